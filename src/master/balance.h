/*
 * balance: has the kernel choose the worker of a new connection as the generation that serves
 * wants it. Called when a generation is put in its place, and when a socket was replaced or closed.
 */
#ifndef H2D_MASTER_BALANCE_H
#define H2D_MASTER_BALANCE_H

#include <stdbool.h>

struct listener;
struct master;

/* For all listening sockets. Where the kernel refuses there is a warning, and hash. */
void balance_apply(struct master *m);

/*
 * The slots of l from the n-th on leave: whether the kernel hands on what is queued there when they
 * are closed. If not, nothing new is queued there from now on.
 */
bool balance_steer(const struct master *m, const struct listener *l, unsigned n);

#endif
