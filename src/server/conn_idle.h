/*
 * conn_idle: the connections of a worker on which nothing is going on, the longest idle one first.
 * conn_timer puts them in; a full worker has the first one leave, by the rules of the keepalive
 * timeout, so that a new client need not wait for that. Admin connections are never among them.
 */
#ifndef H2D_SERVER_CONN_IDLE_H
#define H2D_SERVER_CONN_IDLE_H

#include "server/conn.h"

/* Nothing is going on on c from now on. It may be so already: its time begins anew. */
void conn_idle_begin(struct conn *c);

/* Something is. It need not have been idle. */
void conn_idle_end(struct conn *c);

/* Tells the longest idle one to leave. False: there is none. */
bool conn_idle_evict(struct conn_env *env);

#endif
