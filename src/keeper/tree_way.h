/*
 * tree_way: what a root's path goes through: walks it one component at a time, as the kernel would
 * (path_resolution(7)), and shows each directory and link on the way. Called by tree_watch.c.
 */
#ifndef H2D_KEEPER_TREE_WAY_H
#define H2D_KEEPER_TREE_WAY_H

#include <stdint.h>

/*
 * fd is an O_PATH descriptor, good for the call: of a directory in which name is looked up next,
 * or, with name NULL, of a symbolic link that is followed next, or of the directory where the way
 * ends. Not 0 ends the walk.
 */
typedef int tree_way_fn(void *ctx, int fd, const char *name);

/*
 * Walks path. Answers what fn answered, else 0: a path that leads nowhere is shown as far as it
 * leads. *sum tells ways apart: it changes with the files on the way, with how it ended, and with
 * which directories on it may be read and searched by this process.
 */
int tree_way(const char *path, tree_way_fn *fn, void *ctx, uint64_t *sum);

#endif
