/*
 * name_map: numbers by name, in a hash table. It borrows the names. For what is built with a
 * configuration and then looked up: an operator's names, so that the hash has no key.
 */
#ifndef H2D_BASE_NAME_MAP_H
#define H2D_BASE_NAME_MAP_H

#include "base/slice.h"

struct name_slot {
	struct slice name; /* p NULL: it is free */
	unsigned value;
};

/* Zeros are an empty one. */
struct name_map {
	struct name_slot *slots;
	unsigned nslots, n; /* nslots: a power of two, or 0 */
};

/* The value of name, which outlives the map: 0 if it is new. Good until the next one. NULL when
 * memory is out. */
unsigned *name_map_put(struct name_map *m, struct slice name);

/* 0: there is none. */
unsigned name_map_get(const struct name_map *m, struct slice name);

void name_map_fini(struct name_map *m);

#endif
