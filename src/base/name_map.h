/*
 * name_map: numbers by name, in a hash table. It borrows the names. For names of a configuration,
 * which an operator writes: the hash has no key.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* FNV-1a, for names and files of the operator, which never collide on purpose. */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* Extends the hash h by n bytes. */
static inline uint64_t fnv_add(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * UINT64_C(0x100000001b3);
	return h;
}

struct name_slot {
	struct slice name; /* p NULL: free */
	unsigned value;
};

/* Empty when zeroed. */
struct name_map {
	struct name_slot *slots;
	unsigned nslots, n; /* nslots: a power of two, or 0 */
};

/* The value of name, which outlives the map: 0 if it is new. Good until the next one. NULL when
 * memory is out. */
unsigned *name_map_put(struct name_map *m, struct slice name);

/* 0: none. */
unsigned name_map_get(const struct name_map *m, struct slice name);

void name_map_fini(struct name_map *m);
