/*
 * worker_orders: orders to a worker: messages of the master, its death, and signals. For
 * server/worker.c only.
 */
#ifndef H2D_SERVER_WORKER_ORDERS_H
#define H2D_SERVER_WORKER_ORDERS_H

#include "server/worker_state.h"

/* From now on orders are heard. 0, or -errno. */
int worker_orders_open(struct worker *w);
void worker_orders_close(struct worker *w);

#endif
