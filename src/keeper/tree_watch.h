/*
 * tree_watch: tells of changes below the roots, and of the roots' own paths, by inotify(7). There
 * is one per keeper, on its loop; scan.c names the directories to watch. It may tell too much (a
 * change that changed nothing), never too little, but for what inotify itself cannot see: mmap
 * writes before close, writes through a hard link elsewhere, mounts.
 */
#ifndef H2D_KEEPER_TREE_WATCH_H
#define H2D_KEEPER_TREE_WATCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "event/loop.h"
#include "keeper/catalog.h"

/*
 * tree_way: what a root's path goes through: walks it one component at a time, as the kernel would
 * (path_resolution(7)), and shows each directory and link on the way. Called by tree_watch.c.
 */

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

/*
 * tree_map: which directories an inotify descriptor watches, and what they are called. A mark is
 * one watch, of one inode; a dir is a name of it in a root; a step ties a root's own path to it.
 * Both kinds find their mark, and a mark finds all of them, since roots may overlap. No system call
 * is made here: tree_watch.c does that.
 */

enum { TREE_PATH_MAX = PATH_MAX + NAME_MAX + 2 }; /* of a directory, a name in it, a slash, NUL */

/* A kernel's watch. Without dirs and steps it is idle: to be removed some time, or used again. */
struct tree_mark {
	struct chain chain;
	int wd;
	struct list dirs, steps, idle;
};

/* A directory in a root; it may be watched itself, or only lead to one that is. */
struct tree_dir {
	struct chain chain;
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
	struct chains marks, dirs;
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

enum tree_change {
	TREE_FILE, /* path, "/dir/name": came, went, or has other content or attributes */
	TREE_DIR,  /* path, "/dir/": came, went, moved, or may be read no more, or again: everything
		      below is in doubt */
	TREE_ROOT, /* the root's path names another directory now (a swapped link), or none; path is
		      "/" */
	TREE_LOST, /* events were lost: everything is in doubt; root and path are unused */
};

/*
 * Called for each change, by the loop or by tree_watch_read(); path is good for the call. It notes
 * what is to be done and does it later: inside, no function of tree_watch may be called.
 *
 * After TREE_DIR, watch and read the directory again, and those below; what came or went was
 * forgotten. After TREE_ROOT, tree_watch_root() again, then the directories. After TREE_LOST all
 * was forgotten: every root again.
 */
typedef void tree_change_fn(void *ctx, enum tree_change what, unsigned root, const char *path);

struct tree_watch;

/* NULL with errno; EMFILE: fs.inotify.max_user_instances is reached. */
struct tree_watch *tree_watch_new(struct loop *loop, tree_change_fn *fn, void *ctx);
void tree_watch_free(struct tree_watch **w);

/*
 * Watches what root's path goes through: every symbolic link on the way, and the directory of each
 * component, so that a swap or a late appearance of the path is told as TREE_ROOT. Call it before
 * opening the path. Called again after a TREE_ROOT, it takes the path anew; the directories below
 * are forgotten. A path that leads nowhere is no error, nor is a directory on the way that may not
 * be read (what happens there is not told). 0, or -errno: -ENOSPC as below.
 */
int tree_watch_root(struct tree_watch *w, unsigned root, const char *root_path);

/*
 * Watches one directory, open at dirfd (O_PATH will do), called path ("/", "/dir/"), in a root that
 * tree_watch_root() knows (else -ENOENT); before it is read, so that nothing is missed. Watching it
 * again under another path of the same root moves it; under another root's it has both names, and
 * both are told. Watching another directory under a path forgets the one before, with all below it.
 * 0, or -errno: with -ENOSPC the limit of watches is reached (logged once), and only rescans find
 * what changes there.
 */
int tree_watch_dir(struct tree_watch *w, unsigned root, const char *path, int dirfd);

/* Forgets path ("/dir/") and all directories below it. */
void tree_watch_forget(struct tree_watch *w, unsigned root, const char *path);

/* How many directories are watched, once for each root that they are in. */
unsigned tree_watch_count(const struct tree_watch *w);

/* Reads what the kernel has queued, now: before an image is published. */
void tree_watch_read(struct tree_watch *w);

#endif
