/*
 * balance: has the kernel choose the worker of a new connection as the generation that serves
 * wants it. Reload calls it when a generation has been put in its place.
 */
#ifndef H2D_MASTER_BALANCE_H
#define H2D_MASTER_BALANCE_H

struct master;

/* For all listening sockets. What cannot be had is a warning, and hash. */
void balance_apply(struct master *m);

#endif
