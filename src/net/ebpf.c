/*
 * ebpf: bpf(2) has no wrapper in libc. A program that is refused with a reason of the kernel's
 * verifier is a mistake of ours: the reason goes to the log at the level debug.
 */
#include "net/ebpf.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	int rc = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : rc;
}

static uint64_t pointer(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void tell_verifier(union bpf_attr *attr)
{
	char text[4096] = "";

	attr->log_level = 1;
	attr->log_buf = pointer(text);
	attr->log_size = sizeof(text);
	if (bpf(BPF_PROG_LOAD, attr) < 0)
		log_debug("eBPF program: %.*s", (int)sizeof(text) - 1, text);
}

int ebpf_load_reuseport(const struct bpf_insn *insns, unsigned n)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SK_REUSEPORT;
	attr.expected_attach_type = BPF_SK_REUSEPORT_SELECT_OR_MIGRATE;
	attr.insns = pointer(insns);
	attr.insn_cnt = n;
	attr.license = pointer("");
	strcpy(attr.prog_name, "h2d");
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd == -EINVAL || fd == -EACCES)
		tell_verifier(&attr);
	return fd;
}
