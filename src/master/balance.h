/*
 * balance: has the kernel choose the worker of a new connection as the generation that serves
 * wants it. Reload calls it when a generation is brought up and when it is put in its place,
 * supervise when a worker has come up or has died.
 */
#ifndef H2D_MASTER_BALANCE_H
#define H2D_MASTER_BALANCE_H

#include <stdbool.h>

struct gen;
struct listener;
struct master;

/* Before g's processes are started. What g wants and cannot be had is a warning, and hash. */
void balance_prepare(struct gen *g);

/* Whether g's workers write how many connections they have (net/load.h). */
bool balance_has_load(const struct gen *g);

/* For all listening sockets, as the generation that serves has it. */
void balance_apply(struct master *m);

/*
 * The slots of l from the n-th on leave: whether the kernel hands on what is queued there when they
 * are closed. If not, nothing new is queued there from now on.
 */
bool balance_steer(const struct master *m, const struct listener *l, unsigned n);

/* New connections may be sent to slots with a worker that is up, from now on. */
void balance_slots(struct master *m);

#endif
