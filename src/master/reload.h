/*
 * reload: how a generation comes to serve: it is read, checked, given its sockets and started, and
 * takes the place of the one before only when all of its workers are up. The first start is the
 * same, with nothing before. Reload drains the generation that was replaced or that failed.
 */
#ifndef H2D_MASTER_RELOAD_H
#define H2D_MASTER_RELOAD_H

#include "master/gen.h"

void reload_init(struct master *m);

/* Begins to build a generation. What comes of it is in the log, the status file and the board. */
void reload_begin(struct master *m);

/*
 * g, which is starting, stands: it serves from now on, and the one before drains. reload_done() is
 * due.
 */
void reload_commit(struct gen *g);

/* The request whose generation serves is over. */
void reload_done(struct master *m);

/* g, which is starting, does not stand: it goes, and the one before stays. */
void reload_fail(struct gen *g, const char *why);

#endif
