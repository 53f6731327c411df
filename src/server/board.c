/*
 * board: the scoreboard. The master maps it, hands out and takes back slots; each worker writes its
 * own slot; anybody prints it. What a slot holds is the word of a process that may have gone mad, so
 * it is read once per field, checked before it indexes anything, and never used to find a process.
 */
#include "server/board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/clock.h"

_Static_assert(sizeof(struct board_head) % 4096 == 0, "the head is whole pages");
_Static_assert(sizeof(struct board_slot) == 4096, "a slot is one page");

static const char *const state_names[] = {
	[BOARD_FREE] = "free",
	[BOARD_BOOT] = "boot",
	[BOARD_UP] = "up",
	[BOARD_DRAIN] = "drain",
};

static const char *const fact_names[CACHE_FACTS] = {
#define FACT(name, help) #name,
#include "base/cache_facts.def"
};

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELAXED)

struct board *board_new(void)
{
	struct board *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);

	return b != MAP_FAILED ? b : NULL;
}

void board_free(struct board **b)
{
	if (*b != NULL)
		munmap(*b, sizeof(**b));
	*b = NULL;
}

int board_protect(struct board *b, struct board_slot *own)
{
	if (mprotect(b, sizeof(*b), PROT_READ) < 0)
		return -errno;
	if (own != NULL && mprotect(own, sizeof(*own), PROT_READ | PROT_WRITE) < 0)
		return -errno;
	return 0;
}

unsigned board_room(const struct board *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BOARD_SLOTS; i++)
		n += b->head.taken[i] == 0;
	return n;
}

struct board_slot *board_take(struct board *b, unsigned slot, uint32_t generation)
{
	for (unsigned i = 0; i < BOARD_SLOTS; i++) {
		struct board_slot *s = &b->slots[i];

		if (b->head.taken[i])
			continue;
		memset(s, 0, sizeof(*s));
		s->slot = slot;
		s->generation = generation;
		STORE(s->state, BOARD_BOOT);
		STORE(b->head.taken[i], 1);
		return s;
	}
	return NULL;
}

void board_release(struct board *b, struct board_slot **sp)
{
	struct board_slot *s = *sp;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		int64_t n = counters_get(&s->counters, i);
		int64_t *sum = (int64_t *)&b->head.retired + i;

		if (counter_info[i].kind == COUNTER_TOTAL && n > 0)
			STORE(*sum, (int64_t)((uint64_t)*sum + (uint64_t)n));
	}
	STORE(b->head.taken[s - b->slots], 0);
	STORE(s->pid, 0);
	STORE(s->state, BOARD_FREE);
	*sp = NULL;
}

/* --- /status.json ------------------------------------------------------------------------------ */

/* Enough for every number of a counters block and its name, and for what stands around it. */
enum {
#define COUNTER(name, kind, help) + sizeof(",\"" #name "\":-9223372036854775808")
	COUNTERS_TEXT = 0
#include "base/counters.def"
	,
	WORKER_TEXT = COUNTERS_TEXT + 256,
#define FACT(name, help) + sizeof(",\"" #name "\":18446744073709551615")
	FACTS_TEXT = 0
#include "base/cache_facts.def"
	,
	HEAD_TEXT = COUNTERS_TEXT + FACTS_TEXT + 512,
};

struct text {
	char *p;
	size_t n, cap;
};

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->p + t->n, t->cap - t->n, fmt, args);
	va_end(args);
	H2D_ASSERT(n >= 0 && (size_t)n < t->cap - t->n);
	t->n += (size_t)n;
}

static void put_worker(struct text *t, const struct board_slot *s, int64_t sums[])
{
	uint32_t state = LOAD(s->state);

	put(t, "{\"slot\":%" PRIu32 ",\"pid\":%" PRId32 ",\"generation\":%" PRIu32 ",\"state\":\"%s\","
		"\"image\":%" PRIu64, LOAD(s->slot), LOAD(s->pid), LOAD(s->generation),
		state <= BOARD_DRAIN ? state_names[state] : "unknown", LOAD(s->image));
	for (int i = 0; i < COUNTER_COUNT; i++) {
		int64_t n = counters_get(&s->counters, i);

		put(t, ",\"%s\":%" PRId64, counter_info[i].name, n);
		sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)n);
	}
	put(t, "}");
}

struct slice board_json(const struct board *b, struct arena *a)
{
	const struct board_head *head = &b->head;
	struct text t = { .cap = HEAD_TEXT };
	uint64_t now = (uint64_t)clock_wall().tv_sec;
	uint64_t started = LOAD(head->started);
	int64_t sums[COUNTER_COUNT];
	unsigned left = BOARD_SLOTS - board_room(b);
	const char *comma = "";

	t.cap += (size_t)left * WORKER_TEXT;
	t.p = arena_alloc(a, t.cap);
	if (t.p == NULL)
		return (struct slice){ 0 };
	for (int i = 0; i < COUNTER_COUNT; i++)
		sums[i] = counters_get(&head->retired, i);

	put(&t, "{\"version\":\"" PACKAGE_VERSION "\",\"generation\":%" PRIu32 ",\"uptime\":%" PRIu64
		",\"image\":%" PRIu64 ",\"building\":%" PRIu32 ",\"keeper\":%" PRIu32 ",\"cache\":{",
		LOAD(head->generation), now > started ? now - started : 0, LOAD(head->image),
		LOAD(head->building), LOAD(head->keeper_pid));
	for (int i = 0; i < CACHE_FACTS; i++)
		put(&t, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", fact_names[i], LOAD(head->cache.v[i]));
	put(&t, "},\"workers\":[");
	/* A slot taken since they were counted is left out: there is no room for it. */
	for (unsigned i = 0; i < BOARD_SLOTS && left > 0; i++) {
		if (!LOAD(head->taken[i]))
			continue;
		put(&t, "%s", comma);
		put_worker(&t, &b->slots[i], sums);
		comma = ",";
		left--;
	}
	put(&t, "],\"totals\":{");
	for (int i = 0; i < COUNTER_COUNT; i++)
		put(&t, "%s\"%s\":%" PRId64, i > 0 ? "," : "", counter_info[i].name, sums[i]);
	put(&t, "}}\n");
	return slice_of(t.p, t.n);
}
