/*
 * health: what the master tells load balancers: whether they may send requests here. It keeps the
 * facts of board/board_health.def in the scoreboard, where workers read them, and says each change
 * in the log.
 */
#ifndef H2D_MASTER_HEALTH_H
#define H2D_MASTER_HEALTH_H

#include "board/board_health.h"

struct gen;
struct master;

/* The fact holds from now on, or holds no longer. */
void health_set(struct master *m, enum board_health fact, bool holds);

bool health_has(const struct master *m, enum board_health fact);

/* Looks at what the configuration counts as unhealthy; every second, and where an image comes. */
void health_look(struct master *m);

/* A generation serves, in the place of old; a step of serve_step.def. */
void health_begin(struct master *m, const struct gen *old);

/*
 * Takes the machine out of its load balancers, or puts it back, as `h2d -s drain` and `undrain`
 * ask: a request with an outcome (master/outcome.h). What is served does not change. Only while
 * nothing else is under way.
 */
void health_drain(struct master *m, bool drained);

#endif
