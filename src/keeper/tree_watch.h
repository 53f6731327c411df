/*
 * tree_watch: reports changes below the roots, and of the roots' own paths, by inotify(7). There is
 * one per keeper, on its loop; scan.c names the directories to watch. It may report too much (a
 * change without effect), never too little, except what inotify cannot see: mmap writes before
 * close, writes through a hard link elsewhere, mounts.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "event/loop.h"
#include "keeper/catalog.h"

/*
 * tree_map: the directories watched by an inotify descriptor, and their names. A mark is one watch,
 * of one inode; a dir is a name of it in a root. A dir finds its mark, and a mark all of its dirs,
 * since roots may overlap. It makes no system calls: tree_watch.c does.
 */

enum { TREE_PATH_MAX = PATH_MAX + NAME_MAX + 2 }; /* of a directory, a name in it, a slash, NUL */

/* A kernel's watch. Without dirs it is idle: to be removed later, or reused. */
struct tree_mark {
	struct chain chain;
	int wd;
	struct list dirs, idle;
};

/* A directory in a root; watched itself, or only leading to one that is. */
struct tree_dir {
	struct chain chain;
	struct tree_dir *parent; /* NULL: the root */
	struct list children, sibling;
	struct tree_mark *mark; /* NULL: not watched */
	struct list of_mark;
	unsigned root;
	bool readable; /* and searchable, at the last check */
	size_t n;      /* of name */
	char name[];
};

struct tree_map {
	struct chains marks, dirs;
	unsigned watched; /* dirs with a mark */
	struct list idle;
};

/* 0, or -ENOMEM. */
int tree_map_init(struct tree_map *m);

/* Frees the marks; dirs must be freed already. */
void tree_map_fini(struct tree_map *m);

/* NULL: no such watch. */
struct tree_mark *tree_map_mark(const struct tree_map *m, int wd);

/* Finds or makes the mark; a new one is idle. NULL: no memory. */
struct tree_mark *tree_map_add_mark(struct tree_map *m, int wd);

/* Frees an idle mark. */
void tree_map_remove_mark(struct tree_map *m, struct tree_mark *mark);

/* The top of a root, without a mark. NULL: no memory. */
struct tree_dir *tree_dir_top(unsigned root);

/* Removes and frees the top, with all below it. */
void tree_map_free_top(struct tree_map *m, struct tree_dir **top);

/* The directory called name, of n bytes, in parent; NULL: unknown. */
struct tree_dir *tree_map_child(
	const struct tree_map *m, const struct tree_dir *parent, const char *name, size_t n);

/* The directory of path, "/" or "/dir/", below top; make: with its parents, if it is unknown. NULL:
 * unknown, or no memory. */
struct tree_dir *tree_map_find(
	struct tree_map *m, struct tree_dir *top, const char *path, bool make);

/*
 * Gives dir its mark. Removes their former ties: another mark of dir's with all below it, another
 * name of mark's in the same root likewise.
 */
void tree_map_tie(struct tree_map *m, struct tree_dir *dir, struct tree_mark *mark);

/*
 * Removes and frees dir with all below it, and those above that led only to it. A top stays,
 * without mark and children.
 */
void tree_map_drop(struct tree_map *m, struct tree_dir *dir);

/* Writes dir's path into buf of TREE_PATH_MAX bytes, then name (NULL: none). Returns its
 * beginning. */
char *tree_dir_path(const struct tree_dir *dir, const char *name, char *buf);

enum tree_change {
	TREE_FILE, /* path, "/dir/name": came, went, or its content or attributes changed */
	TREE_DIR,  /* path, "/dir/": came, went, moved, or its permission to read changed: check all
		    * below it */
	TREE_DOUBT, /* path, "/name": a file or directory that a worker has changed. Not told by
		     * tree_watch */
	TREE_ROOT,  /* the root's path names another directory now (a swapped link), or none, or may
		     * be read now, or no longer; path is "/". Not told by tree_watch: see
		     * backlog_read() */
	TREE_LOST,  /* events were lost: check all; root and path are unused */
};

/*
 * Called for each change, by the loop or by tree_watch_read(); path is good for the call. It
 * takes notes and acts later: it may not call functions of tree_watch.
 *
 * After TREE_DIR, watch and read the directory again, and those below; their watches were dropped.
 * After TREE_LOST all watches were dropped: every root again.
 */
typedef void tree_change_fn(void *ctx, enum tree_change what, unsigned root, const char *path);

struct tree_watch;

/* For roots 0 to nroots - 1. NULL with errno; EMFILE: fs.inotify.max_user_instances is reached. */
struct tree_watch *tree_watch_new(
	struct loop *loop, unsigned nroots, tree_change_fn *fn, void *ctx);
void tree_watch_free(struct tree_watch **w);

/* Begins anew with a root, whose path stays: watches below are dropped. Its own directory is not
 * watched: whether path still leads to it is for the caller to find. */
void tree_watch_root(struct tree_watch *w, unsigned root, const char *root_path);

/*
 * Watches one directory, open at dirfd (O_PATH will do), called path ("/", "/dir/"), in a root that
 * tree_watch_root() knows (else -ENOENT); before it is read, so that no change is missed. Watching
 * it again under another path of the same root moves it; under another root's it has both names,
 * and both are reported. Watching another directory under a path drops the one before, with all
 * below it. 0, or -errno: with -ENOSPC the limit of watches is reached (logged once), and only
 * rescans find changes there.
 */
int tree_watch_dir(struct tree_watch *w, unsigned root, const char *path, int dirfd);

/* Drops path ("/dir/") and all directories below it. */
void tree_watch_forget(struct tree_watch *w, unsigned root, const char *path);

/* The number of watched directories, counted once per root. */
unsigned tree_watch_count(const struct tree_watch *w);

/* Reads the kernel's queued events now: before an image is published. */
void tree_watch_read(struct tree_watch *w);
