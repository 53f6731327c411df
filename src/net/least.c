/*
 * least: the program. It has no branches but the last ones and no loop over the slots: the kernel's
 * verifier follows every way through a program, and so there is one. Two connections at once, on
 * two CPUs, must not find the same slot to be the least loaded: the chosen slot is taken by a
 * compare and swap of its count, and the connection that loses looks again.
 */
#include "net/least.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/ebpf.h"

enum {
	TRIES = 4,
	PER_SLOT = 24, /* instructions, at most */
	OTHERS = 64,
	TCP_FLAGS = 13, /* where in the header */
};

/* Registers 6 to 9 outlive a call, and 10 is the end of the stack. */
enum {
	CTX = BPF_REG_6,
	AT = BPF_REG_7,   /* struct load_slot *: what is looked at */
	BEST = BPF_REG_8, /* the lowest key */
	TRIED = BPF_REG_9,
	STACK = BPF_REG_10,
};

/*
 * A key is a number of 63 bits, the lower the better: whether the slot is shut, its load, a number
 * that tells equals apart by chance, and which slot it is.
 */
enum {
	KEY_SLOT = 9, /* bits */
	KEY_CHANCE = 21,
	KEY_LOAD = 32,
	KEY_SHUT_AT = KEY_SLOT + KEY_CHANCE + KEY_LOAD,
	LOAD_ZERO = 1 << 30, /* what a load of 0 becomes, as it may be less */
	SLOT_SHIFT = 12,
};

_Static_assert(1 << KEY_SLOT == LOAD_SLOTS, "a slot's number fits in");
_Static_assert(1 << SLOT_SHIFT == sizeof(struct load_slot), "a slot is found by a shift");

static const int FIELD_ASSIGNED = offsetof(struct load_slot, assigned),
		 FIELD_SETTLED = offsetof(struct load_slot, settled),
		 FIELD_SHUT = offsetof(struct load_slot, shut),
		 FIELD_HASH = offsetof(struct sk_reuseport_md, hash), KEY_AT = -4;

/* Any numbers that differ in all bits; the first is the golden ratio's. */
static const uint32_t SPREAD = 0x9e3779b1, MIX = 0x85ebca6b;

/* r1 = at->assigned - at->settled + LOAD_ZERO, r0 = at->assigned; uses r2 */
static void put_load(struct ebpf *p)
{
	ebpf_load(p, BPF_REG_0, AT, FIELD_ASSIGNED);
	ebpf_load(p, BPF_REG_2, AT, FIELD_SETTLED);
	ebpf_alu32(p, BPF_MOV, BPF_REG_1, BPF_REG_0);
	ebpf_alu32(p, BPF_SUB, BPF_REG_1, BPF_REG_2);
	ebpf_alu32_k(p, BPF_ADD, BPF_REG_1, LOAD_ZERO);
}

/* r1 = the key of slot, which at points to; uses r2 */
static void put_key(struct ebpf *p, unsigned slot)
{
	put_load(p);
	ebpf_alu_k(p, BPF_LSH, BPF_REG_1, KEY_SLOT + KEY_CHANCE); /* r1 <<= … */
	ebpf_load(p, BPF_REG_2, CTX, FIELD_HASH);
	ebpf_alu32_k(p, BPF_XOR, BPF_REG_2, (int)(slot * SPREAD));
	ebpf_alu32_k(p, BPF_MUL, BPF_REG_2, (int)MIX);
	ebpf_alu32_k(p, BPF_RSH, BPF_REG_2, 32 - KEY_CHANCE); /* r2 = 21 bits of chance */
	ebpf_alu_k(p, BPF_LSH, BPF_REG_2, KEY_SLOT);
	ebpf_alu_k(p, BPF_OR, BPF_REG_2, (int)slot);
	ebpf_alu(p, BPF_OR, BPF_REG_1, BPF_REG_2); /* r1 |= r2 << KEY_SLOT | slot */
	ebpf_load(p, BPF_REG_2, AT, FIELD_SHUT);
	ebpf_alu_k(p, BPF_LSH, BPF_REG_2, KEY_SHUT_AT);
	ebpf_alu(p, BPF_OR, BPF_REG_1, BPF_REG_2); /* r1 |= at->shut << KEY_SHUT_AT */
}

/* best = min(best, r1), without a branch; uses r2 */
static void put_min(struct ebpf *p)
{
	ebpf_alu(p, BPF_SUB, BPF_REG_1, BEST); /* r1 -= best */
	ebpf_alu(p, BPF_MOV, BPF_REG_2, BPF_REG_1);
	ebpf_alu_k(p, BPF_ARSH, BPF_REG_2, 63);     /* r2 = r1 < 0 ? ~0 : 0 */
	ebpf_alu(p, BPF_AND, BPF_REG_1, BPF_REG_2); /* r1 &= r2 */
	ebpf_alu(p, BPF_ADD, BEST, BPF_REG_1);      /* best += r1 */
}

/* best = the lowest key of n slots */
static void put_look(struct ebpf *p, const struct load *l, unsigned n)
{
	ebpf_alu_k(p, BPF_MOV, BEST, -1);
	ebpf_alu_k(p, BPF_RSH, BEST, 1); /* best = INT64_MAX */
	ebpf_map_value(p, AT, l->fd);    /* at = load */
	for (unsigned slot = 0; slot < n; slot++) {
		if (slot > 0)
			ebpf_alu_k(p, BPF_ADD, AT, sizeof(struct load_slot)); /* at++ */
		put_key(p, slot);
		put_min(p);
	}
}

/* key = best & (LOAD_SLOTS - 1), at = &load[key] */
static void put_find(struct ebpf *p, const struct load *l)
{
	ebpf_alu(p, BPF_MOV, BPF_REG_1, BEST);
	ebpf_alu_k(p, BPF_AND, BPF_REG_1, LOAD_SLOTS - 1);
	ebpf_store(p, STACK, KEY_AT, BPF_REG_1);
	ebpf_alu_k(p, BPF_LSH, BPF_REG_1, SLOT_SHIFT);
	ebpf_map_value(p, AT, l->fd);
	ebpf_alu(p, BPF_ADD, AT, BPF_REG_1);
}

/* Has at->assigned counted up if at's load still is what best says; answers the jump that is taken
 * then. */
static unsigned put_take(struct ebpf *p)
{
	unsigned changed, taken;

	put_load(p);
	ebpf_alu(p, BPF_MOV, BPF_REG_3, BEST);
	ebpf_alu_k(p, BPF_RSH, BPF_REG_3, KEY_SLOT + KEY_CHANCE);
	changed = ebpf_jump32(p, BPF_JNE, BPF_REG_1, BPF_REG_3); /* if (r1 != its load) … */
	ebpf_alu32(p, BPF_MOV, BPF_REG_1, BPF_REG_0);
	ebpf_alu32(p, BPF_MOV, BPF_REG_2, BPF_REG_0);
	ebpf_alu32_k(p, BPF_ADD, BPF_REG_2, 1);
	ebpf_atomic_swap(p, AT, FIELD_ASSIGNED, BPF_REG_2); /* if it is r0: at->assigned = r0 + 1 */
	taken = ebpf_jump32(p, BPF_JEQ, BPF_REG_0, BPF_REG_1); /* if (it was) goto taken */
	ebpf_land(p, changed);
	return taken;
}

/* bpf_sk_select_reuseport(ctx, sockets, &key, 0) */
static void put_select(struct ebpf *p, int sockets)
{
	ebpf_alu(p, BPF_MOV, BPF_REG_1, CTX);
	ebpf_map(p, BPF_REG_2, sockets);
	ebpf_alu(p, BPF_MOV, BPF_REG_3, STACK);
	ebpf_alu_k(p, BPF_ADD, BPF_REG_3, KEY_AT);
	ebpf_alu_k(p, BPF_MOV, BPF_REG_4, 0);
	ebpf_call(p, BPF_FUNC_sk_select_reuseport);
}

/* Where a program jumps to its end. */
struct jumps {
	unsigned v[4], n;
};

static void put_none(struct jumps *none, unsigned jump)
{
	none->v[none->n++] = jump;
}

/*
 * if (ctx->migrating_sk == NULL && what came is no SYN) goto none: stray segments of connections
 * that are over come to a listening socket too, and are no connection.
 */
static void put_is_syn(struct ebpf *p, struct jumps *none)
{
	unsigned migrates;

	ebpf_read(p, BPF_DW, BPF_REG_1, CTX, offsetof(struct sk_reuseport_md, migrating_sk));
	migrates = ebpf_jump_k(p, BPF_JNE, BPF_REG_1, 0);
	ebpf_read(p, BPF_DW, BPF_REG_1, CTX, offsetof(struct sk_reuseport_md, data));
	ebpf_read(p, BPF_DW, BPF_REG_2, CTX, offsetof(struct sk_reuseport_md, data_end));
	ebpf_alu(p, BPF_MOV, BPF_REG_3, BPF_REG_1); /* r1: the TCP header */
	ebpf_alu_k(p, BPF_ADD, BPF_REG_3, TCP_FLAGS + 1);
	put_none(none, ebpf_jump(p, BPF_JGT, BPF_REG_3, BPF_REG_2));
	ebpf_read(p, BPF_B, BPF_REG_1, BPF_REG_1, TCP_FLAGS);
	ebpf_alu_k(p, BPF_AND, BPF_REG_1, TH_SYN | TH_ACK);
	put_none(none, ebpf_jump_k(p, BPF_JNE, BPF_REG_1, TH_SYN));
	ebpf_land(p, migrates);
}

static void put_program(struct ebpf *p, const struct load *l, int sockets, unsigned n)
{
	struct jumps none = { .n = 0 };
	unsigned again, taken;

	ebpf_alu(p, BPF_MOV, CTX, BPF_REG_1);
	put_is_syn(p, &none);
	ebpf_alu_k(p, BPF_MOV, TRIED, 0);
	again = p->n; /* do { */
	put_look(p, l, n);
	ebpf_alu(p, BPF_MOV, BPF_REG_1, BEST);
	ebpf_alu_k(p, BPF_RSH, BPF_REG_1, KEY_SHUT_AT);
	/* if (best >> KEY_SHUT_AT) goto none */
	put_none(&none, ebpf_jump_k(p, BPF_JNE, BPF_REG_1, 0));
	put_find(p, l);
	taken = put_take(p);
	ebpf_alu_k(p, BPF_ADD, TRIED, 1);
	/* } while (++tried < TRIES) */
	ebpf_land_at(p, ebpf_jump_k(p, BPF_JLT, TRIED, TRIES), again);
	ebpf_alu_k(p, BPF_MOV, BPF_REG_1, 1);
	ebpf_atomic_add(p, AT, FIELD_ASSIGNED, BPF_REG_1); /* at->assigned++ */
	ebpf_land(p, taken);
	put_select(p, sockets);
	for (unsigned i = 0; i < none.n; i++)
		ebpf_land(p, none.v[i]);
	ebpf_alu_k(p, BPF_MOV, BPF_REG_0, SK_PASS); /* return SK_PASS */
	ebpf_exit(p);
}

/* The program in the kernel: its descriptor, or -errno. */
static int load_program(const struct load *l, int sockets, unsigned n)
{
	struct ebpf p = { .max = n * PER_SLOT + OTHERS };
	int prog;

	p.insns = calloc(p.max, sizeof(*p.insns));
	if (p.insns == NULL)
		return -ENOMEM;
	put_program(&p, l, sockets, n);
	prog = ebpf_load_reuseport(&p);
	free(p.insns);
	return prog;
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
