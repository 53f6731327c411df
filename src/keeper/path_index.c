/*
 * path_index: a hash table with chains, doubled when it is full. Only the catalogue calls it; it
 * owns the table, never the names in it.
 */
#include "keeper/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "image/image.h"

enum { SIZE_MIN = 1024 };

int path_index_init(struct path_index *t)
{
	*t = (struct path_index){ .size = SIZE_MIN };
	/* The seed keeps who chooses names from choosing collisions. */
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed = clock_read_us();
	t->table = calloc(t->size, sizeof(struct name *));
	return t->table != NULL ? 0 : -ENOMEM;
}

void path_index_fini(struct path_index *t)
{
	free(t->table);
	*t = (struct path_index){ 0 };
}

struct name *path_index_find(const struct path_index *t, uint32_t root, struct slice path)
{
	uint64_t hash = image_hash(t->seed, root, path);
	struct name *n = t->table[hash & (t->size - 1)];

	while (n != NULL &&
		(n->hash != hash || n->root != root || !slice_eq(slice_of(n->path, n->n), path)))
		n = n->chain;
	return n;
}

/* Without the memory for it, chains grow longer. */
static void widen(struct path_index *t)
{
	uint32_t size = t->size * 2;
	struct name **table = calloc(size, sizeof(struct name *));

	if (table == NULL)
		return;
	for (uint32_t i = 0; i < t->size; i++) {
		for (struct name *n = t->table[i], *next; n != NULL; n = next) {
			struct name **head = &table[n->hash & (size - 1)];

			next = n->chain;
			n->chain = *head;
			*head = n;
		}
	}
	free(t->table);
	t->table = table;
	t->size = size;
}

void path_index_enter(struct path_index *t, struct name *n)
{
	struct name **head;

	if (t->n++ >= t->size)
		widen(t);
	n->hash = image_hash(t->seed, n->root, slice_of(n->path, n->n));
	head = &t->table[n->hash & (t->size - 1)];
	n->chain = *head;
	*head = n;
}

void path_index_leave(struct path_index *t, struct name *n)
{
	struct name **at = &t->table[n->hash & (t->size - 1)];

	while (*at != n)
		at = &(*at)->chain;
	*at = n->chain;
	t->n--;
}
