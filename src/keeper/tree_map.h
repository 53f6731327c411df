/*
 * tree_map: which directories an inotify descriptor watches, and what they are called. A mark is
 * one watch, of one inode; a dir is a name of it in a root; a step ties a root's own path to it.
 * Both kinds find their mark, and a mark finds all of them, since roots may overlap. No system call
 * is made here: tree_watch.c does that.
 */
#ifndef H2D_KEEPER_TREE_MAP_H
#define H2D_KEEPER_TREE_MAP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

enum { TREE_PATH_MAX = PATH_MAX + NAME_MAX + 2 }; /* of a directory, a name in it, a slash, NUL */

/* A kernel's watch. Without dirs and steps it is idle: to be removed some time, or used again. */
struct tree_mark {
	struct tree_mark *next; /* with the same hash */
	int wd;
	struct list dirs, steps, idle;
};

/* A directory in a root; it may be watched itself, or only lead to one that is. */
struct tree_dir {
	struct tree_dir *next;   /* with the same hash */
	struct tree_dir *parent; /* NULL: the root */
	struct list children, sibling;
	struct tree_mark *mark; /* NULL: not watched */
	struct list of_mark;
	unsigned root;
	bool readable; /* and searchable, when it was last looked at */
	size_t n;      /* of name */
	char name[];
};

/* An event of mark for name, or for the marked file itself, concerns where root's path leads. */
struct tree_step {
	struct list of_mark, of_root;
	struct tree_mark *mark;
	unsigned root;
	char name[]; /* empty: the marked file alone */
};

struct tree_map {
	struct tree_mark **marks;
	struct tree_dir **dirs;
	unsigned marks_bits, dirs_bits;
	unsigned nmarks, ndirs;
	unsigned watched; /* dirs with a mark */
	struct list idle;
};

/* 0, or -ENOMEM. */
int tree_map_init(struct tree_map *m);

/* Frees the marks; dirs and steps are gone by then. */
void tree_map_fini(struct tree_map *m);

/* NULL: no such watch. */
struct tree_mark *tree_map_mark(const struct tree_map *m, int wd);

/* Finds or makes the mark; a new one is idle. NULL: no memory. */
struct tree_mark *tree_map_add_mark(struct tree_map *m, int wd);

/* Frees an idle mark. */
void tree_map_remove_mark(struct tree_map *m, struct tree_mark *mark);

/* The top of a root, without a mark. NULL: no memory. */
struct tree_dir *tree_dir_top(unsigned root);

/* Forgets and frees the top, with all below it. */
void tree_map_free_top(struct tree_map *m, struct tree_dir **top);

/* The directory called name, of n bytes, in parent; NULL: unknown. */
struct tree_dir *tree_map_child(
	const struct tree_map *m, const struct tree_dir *parent, const char *name, size_t n);

/* The directory of path, "/" or "/dir/", below top; NULL: unknown. */
struct tree_dir *tree_map_find(struct tree_map *m, struct tree_dir *top, const char *path);

/* Finds or makes it, and those that lead to it. NULL: no memory. */
struct tree_dir *tree_map_make(struct tree_map *m, struct tree_dir *top, const char *path);

/*
 * Gives dir its mark. What dir and mark were before is forgotten: another mark of dir's with all
 * below it, another name of mark's in the same root likewise.
 */
void tree_map_tie(struct tree_map *m, struct tree_dir *dir, struct tree_mark *mark);

/*
 * Forgets dir with all below it, and frees them and those above that led nowhere else. A top stays,
 * without mark and children.
 */
void tree_map_drop(struct tree_map *m, struct tree_dir *dir);

/* Ties name (NULL: none) at mark to a root, whose list of steps is steps. 0, or -ENOMEM. */
int tree_map_add_step(struct tree_map *m, struct tree_mark *mark, const char *name, unsigned root,
	struct list *steps);
void tree_map_remove_step(struct tree_map *m, struct tree_step *step);

/* Writes dir's path into buf of TREE_PATH_MAX bytes, then name (NULL: none). Where it begins. */
char *tree_dir_path(const struct tree_dir *dir, const char *name, char *buf);

#endif
