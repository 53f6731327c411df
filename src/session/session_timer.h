/*
 * session_timer: a session's timeout, and its end. A timeout begins with the wait and is not
 * extended by bytes that do not end it; only output taken at the least rate extends the send
 * timeout, and a request body at that rate the body's.
 */
#ifndef H2D_SESSION_SESSION_TIMER_H
#define H2D_SESSION_SESSION_TIMER_H

#include "session/sessions.h"

/* s is new: awaits its handshake. */
void session_timer_init(struct session *s);

/* Sets it to ms milliseconds, whatever it was before. */
void session_timer_set(struct session *s, uint64_t ms);

/* Called after a turn of s: sets the timeout of its present need. */
void session_timer_update(struct session *s);

#endif
