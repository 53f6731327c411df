/*
 * conn_idle: the connections of a worker on which nothing is going on, the longest idle one first,
 * and those whose first header section is not there yet. A full worker has the first one leave, so
 * that a new client need not wait: one that is silent for a second and has nothing in its socket,
 * else one that is idle, by the rules of the keepalive timeout. Admin connections are never among
 * them.
 */
#ifndef H2D_CONN_CONN_IDLE_H
#define H2D_CONN_CONN_IDLE_H

#include "conn/conn.h"

/* c is new, and silent until its first header section is complete, or nothing more is under way. */
void conn_idle_opened(struct conn *c);

/* Nothing is going on on c from now on. It may be so already: its time begins anew. */
void conn_idle_begin(struct conn *c);

/* Something is. It need not have been idle; without a protocol it goes on being silent. */
void conn_idle_end(struct conn *c);

/* Whether there is one that may leave now. Without one, time alone may bring one. */
bool conn_idle_any(const struct conn_env *env);

/* Has it leave, if there is one. It may be dead by then. */
void conn_idle_evict(struct conn_env *env);

/* Says in the log that c was waited for too long; at debug, if it has never said a byte. */
void conn_idle_timed_out(const struct conn *c, const struct err *err);

#endif
