/*
 * names: finds what the catalogue knows by root and path. It owns the table alone; who enters a name
 * keeps its memory, and takes it out before that goes. Catalogue only.
 */
#ifndef H2D_CACHE_NAMES_H
#define H2D_CACHE_NAMES_H

#include <stdint.h>

#include "base/slice.h"

struct name {
	struct name *chain;
	uint64_t hash;
	uint32_t root, n;
	const char *path;             /* of n bytes, NUL-terminated */
};

struct names {
	struct name **table;
	uint32_t size, n;
	uint64_t seed;
};

/* 0, or -ENOMEM: names_fini() is right after that, too. */
int names_init(struct names *t);

/* What is still in it is left to its owners. */
void names_fini(struct names *t);

/* NULL: there is none. */
struct name *names_find(const struct names *t, uint32_t root, struct slice path);

/* root, n and path are set; there is no such name yet. */
void names_enter(struct names *t, struct name *n);
void names_leave(struct names *t, struct name *n);

#endif
