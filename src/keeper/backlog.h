/*
 * backlog: what the kernel or a worker tells of goes on to scan, but not in the middle of a long
 * step, when the catalogue must stay as it is: such changes are marked in the images at once, and
 * scan is told when the step is over, in their order.
 */
#ifndef H2D_KEEPER_BACKLOG_H
#define H2D_KEEPER_BACKLOG_H

#include "base/strbuf.h"
#include "keeper/scan.h"

enum { BACKLOG_MAX = 4 << 20 }; /* bytes, about */

struct backlog {
	struct scan *scan;
	bool midway; /* in the middle of a long step */
	struct strbuf changes;
	bool lost; /* a change was TREE_LOST, or found no memory or room: everything may have
		      changed */
};

void backlog_init(struct backlog *b, struct scan *scan);
void backlog_fini(struct backlog *b);

/* As scan_change(); path is copied where it is kept. */
void backlog_change(struct backlog *b, enum tree_change what, unsigned root, const char *path);

/* A worker tells that path, "/dir/name", changed, in every root that is the directory (dev, ino).
 */
void backlog_doubt(struct backlog *b, uint64_t dev, uint64_t ino, const char *path);

/* Scan is told of all that was kept; nothing happens midway. */
void backlog_flush(struct backlog *b);

#endif
