/*
 * session_timer: the timeout that a session is under, and what happens when it fires. A timeout
 * begins with what is waited for and is not moved by bytes that do not end it; only output that the
 * peer takes at the least rate moves the send timeout, and a request body that comes so moves the
 * body's.
 */
#ifndef H2D_SESSION_SESSION_TIMER_H
#define H2D_SESSION_SESSION_TIMER_H

#include "session/sessions.h"

/* s is new: its handshake is waited for. */
void session_timer_init(struct session *s);

/* Fires in ms milliseconds, whatever it was set for before. */
void session_timer_set(struct session *s, uint64_t ms);

/* After a turn of s: sets what is waited for now. */
void session_timer_update(struct session *s);

#endif
