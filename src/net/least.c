/*
 * least: loads the program that net/least.bpf.c is compiled to, with the number of slots and the
 * maps that it is for put in, and attaches it.
 */
#include "net/least.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/ebpf.h"

_Static_assert(LOAD_SLOTS == 512 && sizeof(struct load_slot) == 4096 &&
		       offsetof(struct load_slot, assigned) == 0 &&
		       offsetof(struct load_slot, settled) == 4 &&
		       offsetof(struct load_slot, shut) == 8,
	"the layout that net/least.def was compiled for: run make update-bpf");

/* Marks of wide loads, in place of a source register, that load_program() puts a value into. */
enum { LEAST_LOADS = 0xd, LEAST_SOCKETS, LEAST_SLOTS };

#define INSN(op, dst, src, offset, value) \
	{ .code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (value) },
#define FUNCTION(at)
static const struct bpf_insn insns[] = {
#include "net/least.def"
};
#undef INSN
#undef FUNCTION

#define INSN(...)
#define FUNCTION(at) { .insn_off = (at), .type_id = EBPF_FUNCTION },
static const struct bpf_func_info functions[] = {
#include "net/least.def"
};
#undef INSN
#undef FUNCTION

enum {
	N_INSNS = sizeof(insns) / sizeof(insns[0]),
	N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]),
};

static void give(struct bpf_insn *insn, int source, int value)
{
	insn->src_reg = source & 0xf;
	insn->imm = value;
}

/* The program in the kernel: its descriptor, or -errno. */
static int load_program(const struct load *l, int sockets, unsigned n)
{
	struct bpf_insn filled[N_INSNS];
	const struct ebpf p = { filled, N_INSNS, functions, N_FUNCTIONS };

	memcpy(filled, insns, sizeof(insns));
	for (struct bpf_insn *insn = filled; insn < filled + N_INSNS; insn++) {
		if (insn->src_reg == LEAST_LOADS)
			give(insn, BPF_PSEUDO_MAP_FD, l->fd);
		else if (insn->src_reg == LEAST_SOCKETS)
			give(insn, BPF_PSEUDO_MAP_FD, sockets);
		else if (insn->src_reg == LEAST_SLOTS)
			give(insn, 0, (int)n);
	}
	return ebpf_load_reuseport(&p);
}

int least_sockets_new(void)
{
	return ebpf_map_new(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, sizeof(uint64_t), LOAD_SLOTS, 0);
}

/* A socket is in one map at most, and a second time refused as busy. */
static bool has_socket(int sockets, unsigned slot, int fd)
{
	uint64_t there = 0, cookie = 0;

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &(socklen_t){ sizeof(cookie) }) ==
		       0 &&
	       ebpf_map_get(sockets, slot, &there) == 0 && there == cookie;
}

static int put_sockets(int sockets, const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t fd = (uint64_t)fds[i];
		int rc = has_socket(sockets, i, fds[i]) ? 0 : ebpf_map_set(sockets, i, &fd);

		if (rc < 0)
			return rc;
	}
	return 0;
}

int least_attach(const struct load *l, int sockets, const int *fds, unsigned n)
{
	int prog, rc = put_sockets(sockets, fds, n);

	H2D_ASSERT(n > 0 && n <= LOAD_SLOTS);
	if (rc < 0)
		return rc;
	prog = load_program(l, sockets, n);
	if (prog < 0)
		return prog;
	if (setsockopt(fds[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &prog, sizeof(prog)) < 0)
		rc = -errno;
	close(prog);
	return rc;
}

static int try_program(const struct load *l, unsigned n)
{
	int sockets = least_sockets_new(), prog;

	if (sockets < 0)
		return sockets;
	prog = load_program(l, sockets, n);
	close(sockets);
	if (prog >= 0)
		close(prog);
	return prog < 0 ? prog : 0;
}

int least_try(unsigned n)
{
	struct load l;
	int rc = n <= LOAD_SLOTS ? load_open(&l) : -E2BIG;

	if (rc < 0)
		return rc;
	rc = try_program(&l, n);
	load_close(&l);
	return rc;
}
