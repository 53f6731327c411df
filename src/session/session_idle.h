/*
 * session_idle: the sessions of a worker on which nothing is going on, the longest idle one first,
 * and those whose first header section is not there yet. A full worker has the first one leave, so
 * that a new client need not wait: one that is silent for a second and has nothing in its socket,
 * else one that is idle, by the rules of the keepalive timeout. Sessions of admin listeners are
 * never among them.
 */
#ifndef H2D_SESSION_SESSION_IDLE_H
#define H2D_SESSION_SESSION_IDLE_H

#include "session/sessions.h"

/* s is new, and silent until its first header section is complete, or nothing more is under way. */
void session_idle_opened(struct session *s);

/* Nothing is going on on s from now on. It may be so already: its time begins anew. */
void session_idle_begin(struct session *s);

/* Something is. It need not have been idle; without a protocol it goes on being silent. */
void session_idle_end(struct session *s);

/* Whether a session may leave now. If none may, time alone may bring one. */
bool session_idle_any(const struct sessions *all);

/* Has the first one leave, if any may. It may be dead by then. */
void session_idle_evict(struct sessions *all);

/* Says in the log that s was waited for too long; at debug, if it has never said a byte. */
void session_idle_timed_out(const struct session *s, const struct err *err);

#endif
