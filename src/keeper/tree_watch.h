/*
 * tree_watch: tells of changes below the roots, and of the roots' own paths, by inotify(7). There
 * is one per keeper, on its loop; scan.c names the directories to watch. It may tell too much (a
 * change that changed nothing), never too little, but for what inotify itself cannot see: mmap
 * writes before close, writes through a hard link elsewhere, mounts.
 */
#ifndef H2D_KEEPER_TREE_WATCH_H
#define H2D_KEEPER_TREE_WATCH_H

#include "event/loop.h"

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
