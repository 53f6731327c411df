/*
 * ebpf: bpf(2) has no wrapper in libc. A program that the kernel's verifier refuses is a mistake of
 * ours: its reason goes to the log at the level debug.
 */
#include "net/ebpf.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"

/* --- instructions ----------------------------------------------------------------------------- */

static void put(struct ebpf *p, int code, int dst, int src, int off, int imm)
{
	H2D_ASSERT(p->n < p->max);
	p->insns[p->n++] = (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = (uint8_t)(dst & 0xf),
		.src_reg = (uint8_t)(src & 0xf),
		.off = (int16_t)off,
		.imm = imm,
	};
}

void ebpf_alu(struct ebpf *p, int op, int dst, int src)
{
	put(p, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}

void ebpf_alu_k(struct ebpf *p, int op, int dst, int k)
{
	put(p, BPF_ALU64 | op | BPF_K, dst, 0, 0, k);
}

void ebpf_alu32(struct ebpf *p, int op, int dst, int src)
{
	put(p, BPF_ALU | op | BPF_X, dst, src, 0, 0);
}

void ebpf_alu32_k(struct ebpf *p, int op, int dst, int k)
{
	put(p, BPF_ALU | op | BPF_K, dst, 0, 0, k);
}

void ebpf_read(struct ebpf *p, int width, int dst, int src, int off)
{
	put(p, BPF_LDX | width | BPF_MEM, dst, src, off, 0);
}

void ebpf_load(struct ebpf *p, int dst, int src, int off)
{
	ebpf_read(p, BPF_W, dst, src, off);
}

void ebpf_store(struct ebpf *p, int dst, int off, int src)
{
	put(p, BPF_STX | BPF_W | BPF_MEM, dst, src, off, 0);
}

void ebpf_atomic_add(struct ebpf *p, int dst, int off, int src)
{
	put(p, BPF_STX | BPF_W | BPF_ATOMIC, dst, src, off, BPF_ADD);
}

void ebpf_atomic_swap(struct ebpf *p, int dst, int off, int src)
{
	put(p, BPF_STX | BPF_W | BPF_ATOMIC, dst, src, off, BPF_CMPXCHG);
}

/* 64 bits of a constant are two instructions. */
static void put_map(struct ebpf *p, int dst, int kind, int map_fd)
{
	put(p, BPF_LD | BPF_DW | BPF_IMM, dst, kind, 0, map_fd);
	put(p, 0, 0, 0, 0, 0);
}

void ebpf_map(struct ebpf *p, int dst, int map_fd)
{
	put_map(p, dst, BPF_PSEUDO_MAP_FD, map_fd);
}

void ebpf_map_value(struct ebpf *p, int dst, int map_fd)
{
	put_map(p, dst, BPF_PSEUDO_MAP_VALUE, map_fd);
}

void ebpf_call(struct ebpf *p, int helper)
{
	put(p, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void ebpf_exit(struct ebpf *p)
{
	put(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

unsigned ebpf_jump(struct ebpf *p, int op, int dst, int src)
{
	put(p, BPF_JMP | op | BPF_X, dst, src, 0, 0);
	return p->n - 1;
}

unsigned ebpf_jump32(struct ebpf *p, int op, int dst, int src)
{
	put(p, BPF_JMP32 | op | BPF_X, dst, src, 0, 0);
	return p->n - 1;
}

unsigned ebpf_jump_k(struct ebpf *p, int op, int dst, int k)
{
	put(p, BPF_JMP | op | BPF_K, dst, 0, 0, k);
	return p->n - 1;
}

void ebpf_land(struct ebpf *p, unsigned jump)
{
	ebpf_land_at(p, jump, p->n);
}

void ebpf_land_at(struct ebpf *p, unsigned jump, unsigned at)
{
	p->insns[jump].off = (int16_t)((int)at - (int)jump - 1);
}

/* --- the kernel ------------------------------------------------------------------------------- */

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	int rc = (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : rc;
}

static uint64_t pointer(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int ebpf_allowed(void)
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

int ebpf_load_reuseport(const struct ebpf *p)
{
	union bpf_attr attr;
	int fd = ebpf_allowed();

	if (fd < 0)
		return fd;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SK_REUSEPORT;
	attr.expected_attach_type = BPF_SK_REUSEPORT_SELECT_OR_MIGRATE;
	attr.insns = pointer(p->insns);
	attr.insn_cnt = p->n;
	attr.license = pointer("");
	memcpy(attr.prog_name, "h2d", sizeof("h2d"));
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd == -EINVAL || fd == -EACCES)
		tell_verifier(&attr);
	return fd;
}

int ebpf_map_new(enum bpf_map_type type, uint32_t value_size, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr;
	int rc = ebpf_allowed();

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
