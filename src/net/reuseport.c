/*
 * reuseport: attaches small programs: classic BPF, assembled here, where possible, because it needs
 * no capability. For an index outside the group the kernel chooses by its own hash. The one eBPF
 * program needs capabilities, and bpf(2) has no wrapper in libc.
 */
#include "net/reuseport.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

enum {
	PER_CPU = 6, /* instructions for one CPU, at most */
	AT_END = 4,
};

struct program {
	struct sock_filter insns[REUSEPORT_CPUS * PER_CPU + AT_END];
	unsigned short n;
};

_Static_assert(REUSEPORT_CPUS *PER_CPU + AT_END <= BPF_MAXINSNS, "the kernel takes no more");

static void put_step(struct program *p, unsigned code, uint32_t k)
{
	p->insns[p->n++] = (struct sock_filter)BPF_STMT((unsigned short)code, k);
}

/* a = what: SKF_AD_CPU or SKF_AD_RANDOM */
static void put_load(struct program *p, int what)
{
	put_step(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + what));
}

/* return (a = random() % n * step + first) */
static void put_any(struct program *p, unsigned n, unsigned step, unsigned first)
{
	put_load(p, SKF_AD_RANDOM);
	put_step(p, BPF_ALU | BPF_MOD | BPF_K, n);
	if (step != 1 || first != 0) {
		put_step(p, BPF_ALU | BPF_MUL | BPF_K, step);
		put_step(p, BPF_ALU | BPF_ADD | BPF_K, first);
	}
	put_step(p, BPF_RET | BPF_A, 0);
}

/* if (a == cpu) return the socket of the at-th CPU, or one of those it has */
static void put_cpu(struct program *p, unsigned cpu, unsigned at, unsigned ncpus, unsigned nsockets)
{
	struct sock_filter *jump = &p->insns[p->n++];
	unsigned before = p->n;

	if (nsockets > ncpus + at)
		put_any(p, (nsockets - at + ncpus - 1) / ncpus, ncpus, at);
	else
		put_step(p, BPF_RET | BPF_K, at % nsockets);
	*jump = (struct sock_filter)BPF_JUMP(
		BPF_JMP | BPF_JEQ | BPF_K, cpu, 0, (unsigned char)(p->n - before));
}

static int attach(int fd, struct program *p)
{
	const struct sock_fprog prog = { .len = p->n, .filter = p->insns };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) < 0
		       ? -errno
		       : 0;
}

int reuseport_hash(int fd)
{
	static const int none = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &none, sizeof(none)) == 0 ||
		errno == ENOENT)
		return 0;
	return -errno;
}

int reuseport_cpu(int fd, const uint16_t *cpus, unsigned ncpus, unsigned nsockets)
{
	struct program p = { .n = 0 };

	H2D_ASSERT(nsockets > 0);
	if (ncpus > REUSEPORT_CPUS)
		ncpus = REUSEPORT_CPUS;
	put_load(&p, SKF_AD_CPU);
	for (unsigned i = 0; i < ncpus; i++)
		put_cpu(&p, cpus[i], i, ncpus, nsockets);
	put_any(&p, nsockets, 1, 0);
	return attach(fd, &p);
}

int reuseport_first(int fd, unsigned n)
{
	struct program p = { .n = 0 };

	H2D_ASSERT(n > 0);
	put_any(&p, n, 1, 0);
	return attach(fd, &p);
}

/* 0 if bpf(2) may be called, or -EPERM: a seccomp filter may kill the process for it. */
static int bpf_allowed(void)
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

/* Loads "return SK_PASS", which names no socket: its descriptor, or -errno. */
static int load_migrating(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = SK_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SK_REUSEPORT;
	attr.expected_attach_type = BPF_SK_REUSEPORT_SELECT_OR_MIGRATE;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uint64_t)(uintptr_t) "";
	memcpy(attr.prog_name, "h2d", sizeof("h2d"));
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

int reuseport_migrate(int fd)
{
	int rc = bpf_allowed(), prog = rc == 0 ? load_migrating() : rc;

	if (prog < 0)
		return prog;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &prog, sizeof(prog)) < 0)
		rc = -errno;
	close(prog);
	return rc;
}
