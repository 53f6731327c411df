/*
 * model_states: the states that a search has found, in memory that all processes of it share. A
 * state is known that is like one which was found before, and in which no event may come more
 * often.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/assert.h"

enum { USED_BITS = 4, USED_MASK = 15 };

/* A state that was found. */
struct state {
	uint64_t key;   /* what it is like */
	uint64_t used;  /* how often events came whose number is limited */
	uint64_t tree;  /* steps of those that may come next that led to states which were new */
	uint32_t first; /* of these; the others follow it */
};

static struct states_found {
	uint32_t nslots, nrows;
	uint32_t *index; /* nslots of rows, from 1 on, by their keys */
	struct state *rows;
} * states;

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	H2D_ASSERT(p != MAP_FAILED);
	return p;
}

/* For half as many as nslots at most. */
static void states_init(uint32_t nslots)
{
	states = share(sizeof(*states));
	states->nslots = nslots;
	states->index = share(nslots * sizeof(*states->index));
	states->rows = share(nslots / 2 * sizeof(*states->rows));
}

static bool uses_no_more(uint64_t a, uint64_t b)
{
	for (; a != 0; a >>= USED_BITS, b >>= USED_BITS)
		if ((a & USED_MASK) > (b & USED_MASK))
			return false;
	return true;
}

/* Whether this state was seen, with as much that may come yet; else it is from now on. */
static bool is_known(uint64_t key, uint64_t used)
{
	for (uint64_t i = key;; i++) {
		uint32_t *at = &states->index[i % states->nslots];

		if (*at == 0) {
			H2D_ASSERT(states->nrows < states->nslots / 2);
			states->rows[states->nrows] = (struct state){ key, used, 0, 0 };
			*at = ++states->nrows;
			return false;
		}
		if (states->rows[*at - 1].key == key &&
			uses_no_more(states->rows[*at - 1].used, used))
			return true;
	}
}
