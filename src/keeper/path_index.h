/*
 * path_index: finds what the catalogue knows by root and path. It owns the table alone: the
 * catalogue keeps the memory of a name, and takes it out before that goes.
 */
#ifndef H2D_KEEPER_PATH_INDEX_H
#define H2D_KEEPER_PATH_INDEX_H

#include <stdint.h>

#include "base/slice.h"

struct name {
	struct name *chain;
	uint64_t hash;
	uint32_t root, n;
	const char *path; /* of n bytes, NUL-terminated */
};

struct path_index {
	struct name **table;
	uint32_t size, n;
	uint64_t seed;
};

/* 0, or -ENOMEM: path_index_fini() is right after that, too. */
int path_index_init(struct path_index *t);

/* Frees the index; names that are still in it are left to their owners. */
void path_index_fini(struct path_index *t);

/* NULL: there is none. */
struct name *path_index_find(const struct path_index *t, uint32_t root, struct slice path);

/* root, n and path are set; there is no such name yet. */
void path_index_enter(struct path_index *t, struct name *n);
void path_index_leave(struct path_index *t, struct name *n);

#endif
