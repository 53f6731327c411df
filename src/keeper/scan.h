/*
 * scan: walks the trees, a portion at a time, breadth first, and takes the word of tree_watch on
 * what changed between walks. What is new or different it gives to the reader; what is gone, the
 * catalogue forgets. Entered are directories on the root's own mount, not through symbolic links,
 * on file systems that cannot hang.
 */
#ifndef H2D_KEEPER_SCAN_H
#define H2D_KEEPER_SCAN_H

#include <dirent.h>

#include "keeper/reader.h"
#include "keeper/tree_watch.h"
#include "keeper/warm_start.h"

struct scan {
	struct catalog *catalog;
	struct reader *reader;
	struct tree_watch *watch; /* NULL: only rescans find what changes */
	bool said_full; /* the log has said that there are more files than an index holds */
	struct warm_start *warm_start; /* of an earlier image; NULL: none */
	struct list todo;              /* directories to be listed */
	unsigned ntodo;
	struct catalog_dir *dir; /* being listed, NULL for none */
	DIR *stream;
	uint8_t *looks; /* per root: what its path names is to be looked at */
	bool any_look;
	int trouble; /* -errno of the machine since the last look, 0: none */
};

/* watch may be NULL. Everything is to be looked at then. 0, or -ENOMEM. */
int scan_init(struct scan *s, struct catalog *c, struct reader *r, struct tree_watch *watch);
void scan_fini(struct scan *s);

/* Everything is to be looked at, root paths included. */
void scan_all(struct scan *s);

/* As tree_change_fn, but for its context. */
void scan_change(struct scan *s, enum tree_change what, unsigned root, const char *path);

/* d is about to be freed. */
void scan_gone_dir(struct scan *s, struct catalog_dir *d);

/* Takes the roots anew that have to be: then an image with what they are now is due at once. */
void scan_roots(struct scan *s);

/* Lists a part of a directory. False if there was nothing to list. */
bool scan_step(struct scan *s);

/* Directories still to be listed. */
unsigned scan_pending(const struct scan *s);

#endif
