/*
 * outcome: reports to `h2d -s`, by the status file. Its callers gather the report in
 * m->outcome.next.
 */
#pragma once

#include <stdbool.h>

#include "board/board_health.h"

struct child;
struct gen;
struct master;

/* A request begins: called before the configuration is read. */
void outcome_begin(struct master *m);

/* The request is over; writes that to the file. */
void outcome_end(struct master *m, bool ok);

/* The generation being built has replaced `old`: adds a line about it to the next outcome. */
void outcome_replaced(struct master *m, const struct gen *old);

/* c's process, which drained, has ended: adds up the ends of its connections. */
void outcome_add(struct gen *g, const struct child *c);

/* The last process of g has ended: adds a line about its connections. */
void outcome_gone(struct master *m, const struct gen *g);

/*
 * health: tells load balancers if they may send requests here. It keeps the facts of
 * board/board_health.def in the scoreboard, for workers, and logs each change.
 */

void health_set(struct master *m, enum board_health fact, bool holds);

bool health_has(const struct master *m, enum board_health fact);

/* Checks for configured unhealthy states; every second, and at a new image. */
void health_look(struct master *m);
void health_begin(struct master *m);

/*
 * Takes the machine out of its load balancers, or puts it back, for `h2d -s drain` and `undrain`: a
 * request with an outcome. h2d keeps serving. Only while no other request is under way.
 */
void health_drain(struct master *m, bool drained);
