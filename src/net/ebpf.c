/*
 * ebpf: bpf(2) has no wrapper in libc. A program that the kernel's verifier refuses is a mistake of
 * ours: its reason goes to the log at the level debug.
 */
#include "net/ebpf.h"

#include <errno.h>
#include <linux/btf.h>
#include <linux/capability.h>
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

/* Whether bpf(2) may be called at all: 0, or -EPERM. A seccomp filter may make it deadly. */
static int allowed(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint64_t has;

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	has = data[0].effective | (uint64_t)data[1].effective << 32;
	if (has & UINT64_C(1) << CAP_SYS_ADMIN)
		return 0;
	return has & UINT64_C(1) << CAP_BPF && has & UINT64_C(1) << CAP_NET_ADMIN ? 0 : -EPERM;
}

static void tell_verifier(union bpf_attr *attr)
{
	static char text[65536];

	attr->log_level = 1;
	attr->log_buf = pointer(text);
	attr->log_size = sizeof(text);
	if (bpf(BPF_PROG_LOAD, attr) < 0)
		log_debug("eBPF program: %s", text);
}

/* One type for all functions: the kernel wants one of each, but does not look whether it is true.
 */
static const struct {
	struct btf_header head;
	struct btf_type call, function;
	char names[4];
} types = {
	.head = { .magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(struct btf_header),
		.type_len = 2 * sizeof(struct btf_type),
		.str_off = 2 * sizeof(struct btf_type),
		.str_len = sizeof(types.names) },
	.call = { .info = BTF_KIND_FUNC_PROTO << 24 },
	.function = { .name_off = 1, .info = BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC, .type = 1 },
	.names = "\0f",
};

static int load_types(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.btf = pointer(&types);
	attr.btf_size = sizeof(types);
	return bpf(BPF_BTF_LOAD, &attr);
}

static int load(const struct ebpf *p, int types_fd)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SK_REUSEPORT;
	attr.expected_attach_type = BPF_SK_REUSEPORT_SELECT_OR_MIGRATE;
	attr.insns = pointer(p->insns);
	attr.insn_cnt = p->n;
	attr.prog_btf_fd = (uint32_t)types_fd;
	attr.func_info = pointer(p->functions);
	attr.func_info_cnt = p->nfunctions;
	attr.func_info_rec_size = sizeof(*p->functions);
	attr.license = pointer("");
	memcpy(attr.prog_name, "h2d", sizeof("h2d"));
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd == -EINVAL || fd == -EACCES)
		tell_verifier(&attr);
	return fd;
}

int ebpf_load_reuseport(const struct ebpf *p)
{
	int types_fd, fd = allowed();

	if (fd < 0)
		return fd;
	types_fd = load_types();
	if (types_fd < 0)
		return types_fd;
	fd = load(p, types_fd);
	close(types_fd);
	return fd;
}

int ebpf_map_new(enum bpf_map_type type, uint32_t value_size, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr;
	int rc = allowed();

	if (rc < 0)
		return rc;
	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = value_size;
	attr.max_entries = entries;
	attr.map_flags = flags;
	memcpy(attr.map_name, "h2d", sizeof("h2d"));
	return bpf(BPF_MAP_CREATE, &attr);
}

static int map_op(enum bpf_cmd cmd, int map_fd, uint32_t key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map_fd;
	attr.key = pointer(&key);
	attr.value = pointer(value);
	return bpf(cmd, &attr);
}

int ebpf_map_set(int map_fd, uint32_t key, const void *value)
{
	return map_op(BPF_MAP_UPDATE_ELEM, map_fd, key, value);
}

int ebpf_map_get(int map_fd, uint32_t key, void *value)
{
	return map_op(BPF_MAP_LOOKUP_ELEM, map_fd, key, value);
}
