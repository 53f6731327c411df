/*
 * takeover: the last steps of an upgrade in the new program: it tells the old master that the first
 * generation stands, has everything it inherited be its own when that one says so, tells it that it
 * serves, and ends the upgrade when that one has left, or died.
 */
#ifndef H2D_MASTER_TAKEOVER_H
#define H2D_MASTER_TAKEOVER_H

#include "event/loop.h"

struct master;

/* The first generation stands. True: the old master is told and has the next word. */
bool takeover_ready(struct master *m);

/* The old master says something, or is gone: for heir_take(). */
void takeover_event(struct watch *w, uint32_t events);

#endif
