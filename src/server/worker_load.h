/*
 * worker_load: keeps the load of the worker's slot true, by which new connections are sent to it or
 * to others: on the scoreboard for the acceptor, and for the program in the kernel (net/load.h)
 * where one balances by it.
 */
#ifndef H2D_SERVER_WORKER_LOAD_H
#define H2D_SERVER_WORKER_LOAD_H

struct worker;
struct worker_listener;

/* The worker is about to be up: looks now, so that its load is true then, and every 100 ms. */
void worker_load_start(struct worker *w);
void worker_load_stop(struct worker *w);

/* A connection was accepted from there; connections have ended. */
void worker_load_came(struct worker *w, const struct worker_listener *from);
void worker_load_gone(struct worker *w);

#endif
