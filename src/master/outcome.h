/*
 * outcome: what `h2d -s` is told, by the status file: how requests ended, what became of the
 * generations that were replaced, and that a reload waits. Reload, upgrade and drain call it;
 * m->next is where they gather what there is to say. It decides nothing.
 */
#ifndef H2D_MASTER_OUTCOME_H
#define H2D_MASTER_OUTCOME_H

#include <stdbool.h>

#include "board/board_health.h"

struct child;
struct gen;
struct master;

/* Writes the file, if there is a pid file of ours to stand beside. 0, or -errno, which is logged.
 */
int outcome_write(const struct master *m);

/* A request begins: before anything is read for it. */
void outcome_begin(struct master *m);

/* The request is over; the file says so. */
void outcome_end(struct master *m, bool ok);

/* The generation that is being built has replaced `old`: a line about it for the next outcome. */
void outcome_replaced(struct master *m, const struct gen *old);

/* c's process, which drained, is gone: adds up what became of its connections. */
void outcome_add(struct gen *g, const struct child *c);

/* The last process of g is gone: a line about its connections. */
void outcome_gone(struct master *m, const struct gen *g);

/*
 * health: what the master tells load balancers: whether they may send requests here. It keeps the
 * facts of board/board_health.def in the scoreboard, where workers read them, and says each change
 * in the log.
 */

/* The fact holds from now on, or holds no longer. */
void health_set(struct master *m, enum board_health fact, bool holds);

bool health_has(const struct master *m, enum board_health fact);

/* Looks at what the configuration counts as unhealthy; every second, and where an image comes. */
void health_look(struct master *m);

/* A generation serves, in the place of another. */
void health_begin(struct master *m);

/*
 * Takes the machine out of its load balancers, or puts it back, as `h2d -s drain` and `undrain`
 * ask: a request with an outcome. What is served does not change. Only while
 * nothing else is under way.
 */
void health_drain(struct master *m, bool drained);

#endif
