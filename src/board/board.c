/*
 * board: a slot may be written by a corrupt process, so the master reads each field once, checks
 * it before it becomes an index, and never finds a process by it.
 */
#include "board/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "image/memfd.h"

_Static_assert(sizeof(struct board_head) % 4096 == 0, "the head is whole pages");
_Static_assert(sizeof(struct board_slot) % 4096 == 0, "a slot is whole pages");

const struct states board_states = {
	.of = "worker",
	.rows = {
#define BOARD_STATE(name, text, next, help) { text, next },
#include "board/board_state.def"
	},
};

#define STORE(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELAXED)

/*
 * The memory file of the board, opened twice: no process can ever map the second descriptor
 * writable.
 */
static int open_twice(int fds[2])
{
	char name[40];

	fds[0] = memfd_new("h2d-board");
	if (fds[0] < 0)
		return fds[0];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[0]);
	fds[1] = open(name, O_RDONLY | O_CLOEXEC);
	if (fds[1] >= 0 && ftruncate(fds[0], sizeof(struct board)) == 0 &&
		fcntl(fds[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return 0;
	return -errno;
}

static void close_both(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

struct board *board_new(void)
{
	int fds[2] = { -1, -1 };
	int flags = MAP_SHARED;
	int rc = open_twice(fds);
	struct board *b;

	/* RLIMIT_FSIZE applies to memory files too: a less safe board is better than none. */
	if (rc < 0) {
		log_warn("scoreboard: no memfd: %s; a compromised process can overwrite all of it",
			strerror(-rc));
		close_both(fds);
		fds[0] = fds[1] = -1;
		flags |= MAP_ANONYMOUS;
	}
	b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, flags, fds[0], 0);
	if (b == MAP_FAILED) {
		close_both(fds);
		return NULL;
	}
	memcpy(b->head.fds, fds, sizeof(fds));
	return b;
}

void board_free(struct board **b)
{
	if (*b != NULL) {
		close_both((*b)->head.fds);
		munmap(*b, sizeof(**b));
	}
	*b = NULL;
}

/* Without descriptors: a child could undo this. */
static int protect_weakly(struct board *b, struct board_slot *own)
{
	if (mprotect(b, sizeof(*b), PROT_READ) < 0)
		return -errno;
	if (own != NULL && mprotect(own, sizeof(*own), PROT_READ | PROT_WRITE) < 0)
		return -errno;
	return 0;
}

int board_protect(struct board *b, struct board_slot *own)
{
	const int fds[2] = { b->head.fds[0], b->head.fds[1] };
	off_t at = own != NULL ? (char *)own - (char *)b : 0;
	int rc = 0;

	if (fds[0] < 0)
		return protect_weakly(b, own);
	if (mmap(b, sizeof(*b), PROT_READ, MAP_SHARED | MAP_FIXED, fds[1], 0) == MAP_FAILED)
		rc = -errno;
	else if (own != NULL && mmap(own, sizeof(*own), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, fds[0], at) == MAP_FAILED)
		rc = -errno;
	close_both(fds);
	return rc;
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
		if (s->counts_servers != 0)
			memset(&s->servers, 0, sizeof(s->servers));
		if (handler_metrics.n > 0)
			memset(&s->handlers, 0, sizeof(s->handlers));
		memset(s, 0, offsetof(struct board_slot, conns));
		s->slot = slot;
		s->generation = generation;
		STORE(b->head.who[i].generation, generation);
		STORE(b->head.who[i].slot, slot);
		STORE(b->head.who[i].serial, b->head.changes + 1);
		STORE(b->head.taken[i], 1);
		STORE(b->head.changes, b->head.changes + 1);
		return s;
	}
	return NULL;
}

const struct board_slot *board_next(const struct board *b, unsigned *i)
{
	while (*i < BOARD_SLOTS) {
		unsigned at = (*i)++;

		if (BOARD_LOAD(b->head.taken[at]))
			return &b->slots[at];
	}
	return NULL;
}

void board_find(
	const struct board *b, uint32_t generation, struct board_worker *workers, unsigned n)
{
	const struct board_head *h = &b->head;

	for (unsigned i = 0; i < BOARD_SLOTS; i++) {
		uint32_t slot = BOARD_LOAD(h->who[i].slot);

		if (BOARD_LOAD(h->taken[i]) && slot < n &&
			BOARD_LOAD(h->who[i].generation) == generation)
			workers[slot] =
				(struct board_worker){ &b->slots[i], BOARD_LOAD(h->who[i].serial) };
	}
}

void board_cells_add(void *sum, const void *from, size_t size)
{
	const int64_t *in = from;
	int64_t *out = sum;

	for (size_t i = 0; i < size / sizeof(*out); i++) {
		int64_t n = BOARD_LOAD(in[i]);

		if (n > 0)
			board_cell_add(&out[i], n);
	}
}

static void add_totals(struct counters *sum, const struct counters *n)
{
	for (int i = 0; i < COUNTERS_CELLS; i++)
		if (counters_grows(i))
			board_cell_add((int64_t *)sum + i, counters_get(n, i));
}

void board_release(struct board *b, struct board_slot **sp)
{
	struct board_slot *s = *sp;
	struct board_head *h = &b->head;
	uint32_t slot = h->who[s - b->slots].slot;
	struct counters c;

	counters_read(&c, &s->counters);
	STORE(h->retirements, h->retirements + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	add_totals(&h->retired, &c);
	if (slot < BOARD_SLOTS)
		add_totals(&h->retired_of[slot], &c);
	board_cells_add(&h->retired_times, &s->times, sizeof(s->times));
	if (BOARD_LOAD(s->counts_servers) != 0)
		board_cells_add(&h->retired_servers, &s->servers, sizeof(s->servers));
	if (handler_metrics.n > 0)
		handler_counts_add(&h->retired_handlers, &s->handlers);
	STORE(h->taken[s - b->slots], 0);
	__atomic_store_n(&h->retirements, h->retirements + 1, __ATOMIC_RELEASE);
	STORE(h->changes, h->changes + 1);
	STORE(s->pid, 0);
	*sp = NULL;
}

void board_read(const struct board *b, unsigned tries, board_read_fn *read, void *to)
{
	uint32_t begun;

	for (unsigned i = 0; i < tries; i++) {
		begun = __atomic_load_n(&b->head.retirements, __ATOMIC_ACQUIRE);
		read(b, to);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Odd: a retirement is under way. */
		if (begun % 2 == 0 && BOARD_LOAD(b->head.retirements) == begun)
			break;
	}
}

/*
 * A line has number 0 while it is written, so that a reader in another process, which compares the
 * number before and after, never gets half of one.
 */
void board_lines_add(struct board_lines *ring, const struct board_line *line)
{
	uint32_t number = ring->n + 1;
	struct board_line *to = &ring->v[ring->n % BOARD_LINES];

	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->level = line->level;
	to->ms = line->ms;
	to->pid = line->pid;
	memcpy(to->who, line->who, sizeof(to->who));
	memcpy(to->text, line->text, sizeof(to->text));
	__atomic_store_n(&to->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->n, number, __ATOMIC_RELEASE);
}

bool board_lines_get(const struct board_lines *ring, unsigned i, struct board_line *out)
{
	uint32_t n = __atomic_load_n(&ring->n, __ATOMIC_ACQUIRE);
	const struct board_line *from;

	if (i >= n || i >= BOARD_LINES)
		return false;
	from = &ring->v[(n - 1 - i) % BOARD_LINES];
	if (__atomic_load_n(&from->number, __ATOMIC_ACQUIRE) != n - i)
		return false;
	memcpy(out, from, sizeof(*out));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	out->who[sizeof(out->who) - 1] = out->text[sizeof(out->text) - 1] = '\0';
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == n - i;
}

/* --- a copy of one moment --------------------------------------------------------------------- */

enum { VIEW_TRIES = 100 };

static struct board_view_slot *view_slot(struct board_view *v, unsigned slot)
{
	struct board_view_slot *s = &v->slots[slot < BOARD_SLOTS ? slot : BOARD_SLOTS - 1];

	s->used = true;
	if (slot >= v->nslots)
		v->nslots = (unsigned)(s - v->slots) + 1;
	return s;
}

static void view_gone(struct board_view *v, const struct board_head *h)
{
	counters_read(&v->sum, &h->retired);
	board_cells_add(&v->times, &h->retired_times, sizeof(v->times));
	board_cells_add(&v->servers, &h->retired_servers, sizeof(v->servers));
	handler_counts_add(&v->handlers, &h->retired_handlers);
	for (unsigned i = 0; i < BOARD_SLOTS; i++)
		for (int k = 0; k < COUNTERS_CELLS; k++)
			if (counters_get(&h->retired_of[i], k) != 0) {
				counters_read(&view_slot(v, i)->n, &h->retired_of[i]);
				break;
			}
}

static void view_living(struct board_view *v, unsigned slot, const struct board_slot *from)
{
	struct board_view_slot *s = view_slot(v, slot);
	uint32_t state = BOARD_LOAD(from->state);
	uint64_t image = BOARD_LOAD(from->image);
	struct counters n;

	counters_read(&n, &from->counters);
	counters_add(&s->n, &n);
	counters_add(&v->sum, &n);
	board_cells_add(&v->times, &from->times, sizeof(v->times));
	if (BOARD_LOAD(from->counts_servers) != 0)
		board_cells_add(&v->servers, &from->servers, sizeof(v->servers));
	if (handler_metrics.n > 0)
		handler_counts_add(&v->handlers, &from->handlers);
	if (s->living++ == 0 || image < s->image)
		s->image = image;
	s->use.memory += BOARD_LOAD(from->use.memory);
	s->use.descriptors += BOARD_LOAD(from->use.descriptors);
	if (state < BOARD_STATES)
		v->states[state]++;
}

static void view_take(const struct board *b, void *to)
{
	struct board_view *v = to;

	memset(v, 0, sizeof(*v));
	view_gone(v, &b->head);
	for (unsigned i = 0; i < BOARD_SLOTS; i++)
		if (BOARD_LOAD(b->head.taken[i]))
			view_living(v, BOARD_LOAD(b->head.who[i].slot), &b->slots[i]);
}

struct board_view *board_view_new(const struct board *b)
{
	struct board_view *v = malloc(sizeof(*v));

	if (v != NULL)
		board_read(b, VIEW_TRIES, view_take, v);
	return v;
}
