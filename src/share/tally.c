/*
 * tally: a table of sets, each of a few places that are searched in order. A place has a tag, of
 * the client and the rule, and the time up to which the client's use is paid for. Two processes may
 * write the same place; that can lose a count or two. No content of the table becomes an address or
 * a loop's bound.
 */
#include "share/tally.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/name_map.h"

enum {
	WAYS = TALLY_WAYS,
	SETS = TALLY_SETS,
	PROCESSES = TALLY_PROCESSES,
	TRIES = 4, /* for a place that others take at the same time */
};

/* A process silent for this long no longer counts. */
#define LEASE_US UINT64_C(4000000)

/*
 * A place that counts has a number in the last bits, before a time: an hour from now while it is
 * not 0, so that it is not given away, and now at 0.
 */
#define HELD_MASK ((UINT64_C(1) << 21) - 1)
#define HELD_NS   (UINT64_C(3600) * NS_PER_S)

#define NS_PER_US  UINT64_C(1000)
#define NS_PER_S   UINT64_C(1000000000)
#define RELAXED(p) __atomic_load_n((p), __ATOMIC_RELAXED)

/* --- rates ------------------------------------------------------------------------------------ */

uint64_t rate_rule(const char *block, const char *key)
{
	uint64_t h = fnv_add(FNV_BEGIN, block, strlen(block) + 1);

	return fnv_add(h, key, strlen(key) + 1);
}

struct rate rate_of(uint64_t per_second, uint64_t burst, const char *block, const char *key)
{
	uint64_t cost = NS_PER_S / per_second;

	return (struct rate){
		.cost_ns = cost,
		.depth_ns = burst < RATE_DEPTH_MAX / cost ? burst * cost : RATE_DEPTH_MAX,
		.rule = rate_rule(block, key),
	};
}

/* --- the memory ------------------------------------------------------------------------------- */

struct tally *tally_new(void)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->table = mmap(
		NULL, sizeof(*t->table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->table != MAP_FAILED && account_keys_make(&t->keys))
		return t;
	if (t->table != MAP_FAILED)
		munmap(t->table, sizeof(*t->table));
	free(t);
	return NULL;
}

void tally_free(struct tally **tp)
{
	struct tally *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	munmap(t->table, sizeof(*t->table));
	free(t);
}

/* --- counting --------------------------------------------------------------------------------- */

/* The place whose time ended first, or ends first. */
static unsigned least_of(const struct tally_set *s)
{
	unsigned least = 0;

	for (unsigned i = 1; i < WAYS; i++)
		if (RELAXED(&s->until_ns[i]) < RELAXED(&s->until_ns[least]))
			least = i;
	return least;
}

/* Takes a place of s for tag from another; NULL: others were faster. */
static __attribute__((noinline)) uint64_t *claim(struct tally_set *s, uint64_t tag)
{
	unsigned i = least_of(s);
	uint64_t old = RELAXED(&s->tags[i]);

	if (!__atomic_compare_exchange_n(
		    &s->tags[i], &old, tag, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return NULL;
	__atomic_store_n(&s->until_ns[i], 0, __ATOMIC_RELAXED);
	return &s->until_ns[i];
}

static uint64_t *tally_find(struct tally_set *s, uint64_t tag)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (RELAXED(&s->tags[i]) == tag)
			return &s->until_ns[i];
	return NULL;
}

static uint64_t *find_or_claim(struct tally *t, uint64_t tag)
{
	struct tally_set *s = &t->table->sets[tag % SETS];
	uint64_t *at = tally_find(s, tag);

	for (int i = 0; at == NULL && i < TRIES; i++) {
		at = claim(s, tag);
		if (at == NULL)
			at = tally_find(s, tag);
	}
	return at;
}

/* tally_take() at a place. */
static inline uint64_t take_at(
	uint64_t *at, const struct rate *rate, uint64_t cost_ns, uint64_t now_us)
{
	uint64_t now = now_us * NS_PER_US, most = now + rate->depth_ns, until = RELAXED(at), next;

	/* Such a time is from another configuration, or from a process taken over. */
	if (__builtin_expect(until > most, false)) {
		__atomic_store_n(at, most, __ATOMIC_RELAXED);
		until = most;
	}
	do {
		next = (until > now ? until : now) + cost_ns;
		if (next > most)
			return next - most;
	} while (!__atomic_compare_exchange_n(
		at, &until, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return 0;
}

static __attribute__((noinline)) uint64_t take_elsewhere(
	struct tally *t, uint64_t tag, const struct rate *rate, uint64_t cost_ns, uint64_t now_us)
{
	uint64_t *at = find_or_claim(t, tag);

	return at != NULL ? take_at(at, rate, cost_ns, now_us) : 0;
}

uint64_t tally_take(
	struct tally *t, uint64_t mark, const struct rate *rate, uint64_t cost_ns, uint64_t now_us)
{
	uint64_t tag = mark ^ rate->rule;
	struct tally_set *s = &t->table->sets[tag % SETS];

	/* Most sets have one used place, the first. */
	if (__builtin_expect(RELAXED(&s->tags[0]) == tag, true))
		return take_at(&s->until_ns[0], rate, cost_ns, now_us);
	return take_elsewhere(t, tag, rate, cost_ns, now_us);
}

/* --- numbers of clients ----------------------------------------------------------------------- */

static bool lives(const struct tally_process *p, uint64_t now_us)
{
	uint64_t seen = RELAXED(&p->seen_us);

	/* Another process's clock may be a little ahead. */
	return seen != 0 && now_us + LEASE_US - seen < 2 * LEASE_US;
}

/* An entry of a dead process; NULL: none. */
static struct tally_process *find_process(struct tally_table *table, uint64_t now_us)
{
	for (unsigned i = 0; i < PROCESSES; i++) {
		struct tally_process *p = &table->processes[i];
		uint64_t seen = RELAXED(&p->seen_us), used = RELAXED(&table->used);

		if (lives(p, now_us) || !__atomic_compare_exchange_n(&p->seen_us, &seen, now_us + 1,
						false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		while (used <= i && !__atomic_compare_exchange_n(&table->used, &used, i + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return p;
	}
	return NULL;
}

bool tally_live(struct tally *t, uint64_t now_us)
{
	if (t->salt == 0 && getrandom(&t->salt, sizeof(t->salt), 0) != sizeof(t->salt))
		t->salt = 0;
	/* After a long stop a process finds another in its entry. */
	if (t->own != NULL && RELAXED(&t->own->salt) != t->salt)
		t->own = NULL;
	if (t->own == NULL && t->salt != 0)
		t->own = find_process(t->table, now_us);
	if (t->own == NULL)
		return false;
	__atomic_store_n(&t->own->salt, t->salt, __ATOMIC_RELAXED);
	__atomic_store_n(&t->own->seen_us, now_us + 1, __ATOMIC_RELAXED);
	return true;
}

void tally_leave(struct tally *t)
{
	if (t->own != NULL && RELAXED(&t->own->salt) == t->salt)
		__atomic_store_n(&t->own->seen_us, 0, __ATOMIC_RELAXED);
	t->own = NULL;
}

void tally_tell(struct tally *t, uint64_t mark, uint64_t rule, uint64_t n, uint64_t now_us)
{
	uint64_t tag = mark ^ rule ^ t->salt;
	uint64_t until = now_us * NS_PER_US + (n > 0 ? HELD_NS : 0);
	uint64_t *at;

	if (t->salt == 0)
		return;
	at = n > 0 ? find_or_claim(t, tag) : tally_find(&t->table->sets[tag % SETS], tag);
	if (at != NULL)
		__atomic_store_n(at, (until & ~HELD_MASK) | (n < HELD_MASK ? n : HELD_MASK),
			__ATOMIC_RELAXED);
}

uint64_t tally_others(const struct tally *t, uint64_t mark, uint64_t rule, uint64_t now_us)
{
	uint64_t used = RELAXED(&t->table->used), sum = 0;

	for (uint64_t i = 0; i < used && i < PROCESSES; i++) {
		const struct tally_process *p = &t->table->processes[i];
		uint64_t tag = mark ^ rule ^ RELAXED(&p->salt);
		const uint64_t *at;

		if (p == t->own || !lives(p, now_us))
			continue;
		at = tally_find(&t->table->sets[tag % SETS], tag);
		if (at != NULL)
			sum += RELAXED(at) & HELD_MASK;
	}
	return sum;
}

/* --- numbers with a limit --------------------------------------------------------------------- */

void holding_init(struct holding *h, enum account_kind kind, struct tally *tally, const char *key,
	uint64_t max)
{
	*h = (struct holding){ .tally = tally, .rule = rate_rule("", key), .max = max };
	budget_init(&h->budget, kind, UINT64_MAX, 0, 1);
}

static void holding_tell(const struct holding *h, const struct account *a)
{
	tally_tell(h->tally, a->mark, h->rule, a->parts[h->budget.kind].held, clock_us());
}

bool holding_take(struct holding *h, struct account *a, bool *counted)
{
	*counted =
		h->tally != NULL && h->max > 0 && a != NULL && !a->exempt && !account_is_crowd(a);
	if (!*counted)
		return true;
	/* Counted before the others are read: of two at once neither is missed. */
	budget_take(&h->budget, a, 1);
	holding_tell(h, a);
	return a->parts[h->budget.kind].held +
		       tally_others(h->tally, a->mark, h->rule, clock_us()) <=
	       h->max;
}

void holding_give(struct holding *h, struct account *a)
{
	account_hold(a);
	budget_give(&h->budget, a, 1);
	holding_tell(h, a);
	account_close(&a);
}
