/*
 * admission: decides if a client may have one connection more, by new-connections-per-second and
 * connections-per-client, over all workers. A kind of session asks once the client is known, before
 * any other work.
 */
#ifndef H2D_SESSION_ADMISSION_H
#define H2D_SESSION_ADMISSION_H

#include "request/req.h"
#include "session/session.h"

/*
 * Counts s for its client. False: it exceeds a limit, which is logged, and s must end. Connections
 * of admin listeners, trusted proxies and exempt clients are not counted.
 */
bool admission_ask(struct session *s, const struct http_env *env);

/* s is over: harmless if it was not counted. */
void admission_end(struct session *s);

#endif
