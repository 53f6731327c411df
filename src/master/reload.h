/*
 * reload: how a generation comes to serve: read, checked, given its sockets, started; and only when
 * all of its workers are up does it take the place of the one before. The first start is the same,
 * with nothing before.
 */
#ifndef H2D_MASTER_RELOAD_H
#define H2D_MASTER_RELOAD_H

#include "master/gen.h"

void reload_init(struct master *m);

/* Begins to build a generation. What comes of it is in the log, the status file and the board. */
void reload_begin(struct master *m);

/* c says that it serves. */
void reload_child_up(struct child *c);

/* g, which is starting, does not stand: it goes, and the one before stays. */
void reload_fail(struct gen *g, const char *why);

#endif
