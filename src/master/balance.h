/*
 * balance: has the kernel choose the worker of a new connection as the generation that serves
 * wants it. Reload calls it when a generation is brought up and when it is put in its place,
 * supervise when a worker has come up or has died.
 */
#ifndef H2D_MASTER_BALANCE_H
#define H2D_MASTER_BALANCE_H

struct gen;
struct master;

/* Before g's processes are started. What g wants and cannot be had is a warning, and hash. */
void balance_prepare(struct gen *g);

/* For all listening sockets, as the generation that serves has it. */
void balance_apply(struct master *m);

/* Which slots new connections may be sent to: those with a worker that is up. */
void balance_slots(struct master *m);

#endif
