/*
 * drain: how a generation leaves: its processes are asked to finish, then terminated, then killed; the
 * last one takes the generation with it.
 */
#ifndef H2D_MASTER_DRAIN_H
#define H2D_MASTER_DRAIN_H

#include "master/gen.h"

/* Generations that may drain at a time; past it the oldest is cut off. */
enum { DRAIN_MAX = 8 };

/* Asks g's processes to finish what they have within its shutdown-timeout. */
void drain_begin(struct gen *g);

/* Ends g's processes now. */
void drain_cut(struct gen *g);

/* Frees g, at the end of this turn, if it has no process left. */
void drain_check(struct gen *g);

/* Cuts the oldest ones if too many drain. */
void drain_limit(struct master *m);

#endif
