/*
 * chains: keeps the table; the catalogue and tree_map call it, with their own hashes.
 */
#include "keeper/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"

enum { SIZE_MIN = 64 };

int chains_init(struct chains *t)
{
	*t = (struct chains){ .size = SIZE_MIN };
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed = clock_read_us();
	t->heads = calloc(t->size, sizeof(struct chain *));
	return t->heads != NULL ? 0 : -ENOMEM;
}

void chains_fini(struct chains *t)
{
	free(t->heads);
	*t = (struct chains){ 0 };
}

static void put_chain(struct chain **heads, uint32_t size, struct chain *c)
{
	struct chain **head = &heads[c->hash & (size - 1)];

	c->next = *head;
	*head = c;
}

/* Without the memory for it, chains grow longer. */
static void widen(struct chains *t)
{
	uint32_t size = t->size * 2;
	struct chain **heads = calloc(size, sizeof(struct chain *));

	if (heads == NULL)
		return;
	for (uint32_t i = 0; i < t->size; i++) {
		for (struct chain *c = t->heads[i], *next; c != NULL; c = next) {
			next = c->next;
			put_chain(heads, size, c);
		}
	}
	free(t->heads);
	t->heads = heads;
	t->size = size;
}

void chains_enter(struct chains *t, struct chain *c, uint64_t hash)
{
	if (t->n++ >= t->size)
		widen(t);
	c->hash = hash;
	put_chain(t->heads, t->size, c);
}

void chains_leave(struct chains *t, struct chain *c)
{
	struct chain **at = &t->heads[c->hash & (t->size - 1)];

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	t->n--;
}
