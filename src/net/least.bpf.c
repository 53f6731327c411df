/*
 * least: the program that runs in the kernel at each SYN. `make update-bpf` compiles it into
 * net/least.def, which net/least.c loads; a plain build never sees this file. There is no loop: the
 * verifier of older kernels follows each one as far as a processor might by mistake, without end.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "net/load.h"

enum {
	TRIES = 4,
	TCP_FLAGS = 13, /* where in the header */
	TCP_SYN = 0x02,
	TCP_ACK = 0x10,
};

/*
 * A key is a number of 63 bits, the lower the better: whether the slot is shut, its load, a number
 * that tells equals apart by chance, and the number of the slot.
 */
enum {
	KEY_SLOT = 9, /* bits */
	KEY_CHANCE = 21,
	KEY_LOAD = 32,
	KEY_LOAD_AT = KEY_SLOT + KEY_CHANCE,
	KEY_SHUT_AT = KEY_LOAD_AT + KEY_LOAD,
	LOAD_ZERO = 1 << 30, /* added to a load, which may be less than 0 */
};

_Static_assert(1 << KEY_SLOT == LOAD_SLOTS, "a slot's number fits in");

/* Numbers that differ in all bits; the first is the golden ratio's. */
static const uint32_t SPREAD = 0x9e3779b1, MIX = 0x85ebca6b;

/* The maps that net/least.c puts in when it loads the program: of loads, by slot, and of an
 * address's sockets; and, as an address, the number of slots. */
extern char loads[], sockets[], slots[];

/* Eight bytes are written as a whole: of a process without CAP_PERFMON older verifiers take the
 * second write of four, at the beginning of eight, for an attack. */
struct look {
	uint64_t best; /* the lowest key */
	uint64_t hash; /* of the connection */
	uint32_t unused;
	uint32_t slot; /* of the lowest key; LOAD_SLOTS: all are shut */
};

static void *(*const map_value)(void *map, const uint32_t *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const for_each)(void *map, void *call, struct look *look,
	uint64_t flags) = (void *)BPF_FUNC_for_each_map_elem;
static long (*const select_socket)(struct sk_reuseport_md *ctx, void *map, uint32_t *key,
	uint64_t flags) = (void *)BPF_FUNC_sk_select_reuseport;

#define READ(field) (*(const volatile uint32_t *)&(field))

static uint32_t load_when(const struct load_slot *s, uint32_t assigned)
{
	return assigned - READ(s->settled) + LOAD_ZERO;
}

static uint64_t key_of(const struct load_slot *s, uint32_t slot, uint32_t hash)
{
	uint32_t chance = (hash ^ slot * SPREAD) * MIX >> (32 - KEY_CHANCE);

	return (uint64_t)READ(s->shut) << KEY_SHUT_AT |
	       (uint64_t)load_when(s, READ(s->assigned)) << KEY_LOAD_AT | chance << KEY_SLOT | slot;
}

/* The kernel's loop calls it for one slot after the other. 1 with the last one. */
static long look_at(void *map, const uint32_t *slot, const struct load_slot *s, struct look *look)
{
	uint64_t key = key_of(s, *slot, (uint32_t)look->hash);

	(void)map;
	if (key < look->best)
		look->best = key;
	return *slot + 1 >= (uint32_t)(uintptr_t)slots;
}

/* Counts the connection, unless the load is not what the key says any more. */
static bool take(struct load_slot *s, uint64_t key)
{
	uint32_t assigned = READ(s->assigned);

	return load_when(s, assigned) == (uint32_t)(key >> KEY_LOAD_AT) &&
	       __sync_val_compare_and_swap(&s->assigned, assigned, assigned + 1) == assigned;
}

/* False: another connection was faster. */
__attribute__((noinline)) static bool look_and_take(struct look *look)
{
	struct load_slot *s;

	look->best = UINT64_MAX;
	for_each(loads, look_at, look, 0);
	look->slot = look->best & (LOAD_SLOTS - 1);
	s = map_value(loads, &look->slot);
	if (look->best >> KEY_SHUT_AT == 0 && s != NULL)
		return take(s, look->best);
	look->slot = LOAD_SLOTS;
	return true;
}

/*
 * Two connections at once, on two CPUs, must not find the same slot to be the least loaded: the one
 * that loses looks again, and at last goes where it looked.
 */
static void choose(struct look *look)
{
	struct load_slot *s;

#pragma unroll
	for (unsigned tried = 0; tried < TRIES; tried++)
		if (look_and_take(look))
			return;
	s = map_value(loads, &look->slot);
	if (s != NULL)
		__sync_fetch_and_add(&s->assigned, 1);
}

/* Stray segments of connections that are over come to a listening socket, too. */
static bool is_syn(const struct sk_reuseport_md *ctx)
{
	const uint8_t *tcp = ctx->data;

	return tcp + TCP_FLAGS + 1 <= (const uint8_t *)ctx->data_end &&
	       (tcp[TCP_FLAGS] & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/* Where no socket is selected the kernel chooses in its own way. */
int least(struct sk_reuseport_md *ctx)
{
	struct look look = { .hash = ctx->hash };

	if (ctx->migrating_sk != NULL || is_syn(ctx)) {
		choose(&look);
		select_socket(ctx, sockets, &look.slot, 0);
	}
	return SK_PASS;
}
