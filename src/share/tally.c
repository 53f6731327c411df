/*
 * tally: a table of sets, each of a few places that are looked at one after the other. A place has
 * a tag, of the client and the rule, and the time up to which what the client had is paid for. Two
 * processes may write the same place; what they can lose by that is a count or two. Whatever is in
 * the table, no address is made of it, and no loop goes by it.
 */
#include "share/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WAYS = 8,
	SETS = 1 << 15, /* a power of two */
	PROCESSES = 1024,
	TRIES = 4, /* to get a place that others take at the same time */
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

struct set {
	uint64_t tags[WAYS]; /* 0: free */
	uint64_t until_ns[WAYS];
} __attribute__((aligned(2 * WAYS * sizeof(uint64_t))));

/* A process that counts what its clients hold, in places of its own: their tags have its salt. */
struct process {
	uint64_t salt;
	uint64_t seen_us; /* its last sign of life, and 1; 0: nobody's */
};

struct table {
	struct set sets[SETS];
	struct process processes[PROCESSES];
	uint64_t used; /* of processes, ever: the first ones */
};

struct tally {
	struct table *table;
	int fd;
	struct account_keys keys;
	uint64_t salt;       /* of this process; 0: it tells nothing */
	struct process *own; /* NULL: likewise */
};

/* A process that is not heard of for so long is not counted any more. */
#define LEASE_US UINT64_C(4000000)

/*
 * A place that says how many has them in the last bits, in front of a time: an hour from now while
 * there are some, so that it is not given to others, and now, when there are none.
 */
#define HELD_MASK ((UINT64_C(1) << 21) - 1)
#define HELD_NS   (UINT64_C(3600) * NS_PER_S)

#define NS_PER_US  UINT64_C(1000)
#define NS_PER_S   UINT64_C(1000000000)
#define RELAXED(p) __atomic_load_n((p), __ATOMIC_RELAXED)

/* --- rates ------------------------------------------------------------------------------------ */

/* FNV-1a over text and the NUL that ends it. */
static uint64_t hash(uint64_t h, const char *text)
{
	do
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	while (*text++ != '\0');
	return h;
}

uint64_t rate_rule(const char *block, const char *key)
{
	return hash(hash(UINT64_C(0xcbf29ce484222325), block), key);
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

static struct tally *map(int fd)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->fd = fd;
	t->table = mmap(NULL, sizeof(*t->table), PROT_READ | PROT_WRITE,
		MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (t->table != MAP_FAILED)
		return t;
	free(t);
	return NULL;
}

/* A sealed file of the table's size; -1: none can be had, and it cannot be handed over. */
static int table_file(void)
{
	int fd = memfd_create("h2d-tally", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, sizeof(struct table)) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return fd;
	close(fd);
	return -1;
}

struct tally *tally_new(void)
{
	struct account_keys keys;
	struct tally *t;
	int fd;

	if (!account_keys_make(&keys))
		return NULL;
	fd = table_file();
	t = map(fd);
	if (t != NULL)
		t->keys = keys;
	else if (fd >= 0)
		close(fd);
	return t;
}

struct tally *tally_adopt(int fd, const struct account_keys *keys)
{
	struct stat st;
	struct tally *t;

	/* A file that could shrink would take this process with it. */
	if (fcntl(fd, F_GET_SEALS) != SEALS || fstat(fd, &st) < 0 ||
		st.st_size != (off_t)sizeof(struct table))
		return NULL;
	t = map(fd);
	if (t != NULL)
		t->keys = *keys;
	return t;
}

void tally_free(struct tally **tp)
{
	struct tally *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	munmap(t->table, sizeof(*t->table));
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

int tally_fd(const struct tally *t)
{
	return t->fd;
}

const struct account_keys *tally_keys(const struct tally *t)
{
	return &t->keys;
}

/* --- counting --------------------------------------------------------------------------------- */

/* The place whose time is over for longest, or is over first. */
static unsigned least_of(const struct set *s)
{
	unsigned least = 0;

	for (unsigned i = 1; i < WAYS; i++)
		if (RELAXED(&s->until_ns[i]) < RELAXED(&s->until_ns[least]))
			least = i;
	return least;
}

/* A place of s for tag, that of another; NULL: others were faster. */
static __attribute__((noinline)) uint64_t *claim(struct set *s, uint64_t tag)
{
	unsigned i = least_of(s);
	uint64_t old = RELAXED(&s->tags[i]);

	if (!__atomic_compare_exchange_n(
		    &s->tags[i], &old, tag, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return NULL;
	__atomic_store_n(&s->until_ns[i], 0, __ATOMIC_RELAXED);
	return &s->until_ns[i];
}

static uint64_t *find(struct set *s, uint64_t tag)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (RELAXED(&s->tags[i]) == tag)
			return &s->until_ns[i];
	return NULL;
}

static uint64_t *find_or_claim(struct tally *t, uint64_t tag)
{
	struct set *s = &t->table->sets[tag % SETS];
	uint64_t *at = find(s, tag);

	for (int i = 0; at == NULL && i < TRIES; i++) {
		at = claim(s, tag);
		if (at == NULL)
			at = find(s, tag);
	}
	return at;
}

/* tally_take() at a place. */
static inline uint64_t take_at(
	uint64_t *at, const struct rate *rate, uint64_t cost_ns, uint64_t now_us)
{
	uint64_t now = now_us * NS_PER_US, most = now + rate->depth_ns, until = RELAXED(at), next;

	/* Such a time comes of another configuration, or of a process that lies. */
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
	struct set *s = &t->table->sets[tag % SETS];

	/* Most sets have one place that is taken, the first. */
	if (__builtin_expect(RELAXED(&s->tags[0]) == tag, true))
		return take_at(&s->until_ns[0], rate, cost_ns, now_us);
	return take_elsewhere(t, tag, rate, cost_ns, now_us);
}

/* --- what is held ----------------------------------------------------------------------------- */

static bool lives(const struct process *p, uint64_t now_us)
{
	uint64_t seen = RELAXED(&p->seen_us);

	/* Another process's clock may be a little ahead. */
	return seen != 0 && now_us + LEASE_US - seen < 2 * LEASE_US;
}

/* An entry of a process that does not live; NULL: there is none. */
static struct process *find_process(struct table *table, uint64_t now_us)
{
	for (unsigned i = 0; i < PROCESSES; i++) {
		struct process *p = &table->processes[i];
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
	/* A process that has stood still for long finds another in its entry. */
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
	at = n > 0 ? find_or_claim(t, tag) : find(&t->table->sets[tag % SETS], tag);
	if (at != NULL)
		__atomic_store_n(at, (until & ~HELD_MASK) | (n < HELD_MASK ? n : HELD_MASK),
			__ATOMIC_RELAXED);
}

uint64_t tally_others(const struct tally *t, uint64_t mark, uint64_t rule, uint64_t now_us)
{
	uint64_t used = RELAXED(&t->table->used), sum = 0;

	for (uint64_t i = 0; i < used && i < PROCESSES; i++) {
		const struct process *p = &t->table->processes[i];
		uint64_t tag = mark ^ rule ^ RELAXED(&p->salt);
		const uint64_t *at;

		if (p == t->own || !lives(p, now_us))
			continue;
		at = find(&t->table->sets[tag % SETS], tag);
		if (at != NULL)
			sum += RELAXED(at) & HELD_MASK;
	}
	return sum;
}
