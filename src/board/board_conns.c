/*
 * board_conns: a table with one writer. Its version is odd while it is written, so that a reader in
 * another process, which compares the version before and after, never shows half of it.
 */
#include "board/board.h"

#include <string.h>

enum { TRIES = 3 };

#define LOAD(field)     __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, v) __atomic_store_n(&(field), (v), __ATOMIC_RELAXED)

void board_conns_begin(struct board_conns *t)
{
	STORE(t->version, t->version | 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	STORE(t->n, 0);
}

struct board_conn *board_conns_add(struct board_conns *t)
{
	struct board_conn *c = t->n < BOARD_CONNS ? &t->v[t->n] : NULL;

	if (c == NULL)
		return NULL;
	memset(c, 0, sizeof(*c));
	STORE(t->n, t->n + 1);
	return c;
}

void board_conns_end(struct board_conns *t, unsigned live, uint64_t now_ms)
{
	STORE(t->live, live);
	STORE(t->at_ms, now_ms);
	__atomic_store_n(&t->version, t->version + 1, __ATOMIC_RELEASE);
}

/* False: the table was written meanwhile. */
static bool board_conns_copy(struct board_conns *to, const struct board_conns *from)
{
	uint32_t version = __atomic_load_n(&from->version, __ATOMIC_ACQUIRE);

	to->n = LOAD(from->n);
	to->live = LOAD(from->live);
	to->at_ms = LOAD(from->at_ms);
	if (to->n > BOARD_CONNS)
		to->n = BOARD_CONNS;
	memcpy(to->v, from->v, to->n * sizeof(to->v[0]));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return version % 2 == 0 && LOAD(from->version) == version;
}

static void end_texts(struct board_conn *c)
{
#define END_TEXT(member)  c->member[sizeof(c->member) - 1] = '\0';
#define END_NAMES(member) END_TEXT(member)
#define END_COUNT(member)
#define END_MS(member)
#define BOARD_CONN(kind, member, size, help) END_##kind(member)
#include "board/board_conns.def"
}

bool board_conns_read(struct board_conns *to, const struct board_conns *from, uint64_t since_ms)
{
	unsigned tries = 0;

	if (LOAD(from->at_ms) < since_ms)
		return false;
	while (!board_conns_copy(to, from))
		if (++tries == TRIES)
			return false;
	for (unsigned i = 0; i < to->n; i++)
		end_texts(&to->v[i]);
	if (to->live < to->n)
		to->live = to->n;
	return true;
}
