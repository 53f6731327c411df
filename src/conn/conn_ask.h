/*
 * conn_ask: asks all that the connections of a worker hold for a lender (base/lender.h): what is
 * made and not sent, and the sources of their responses. For server/worker.c, once files_look()
 * finds a need.
 */
#ifndef H2D_CONN_CONN_ASK_H
#define H2D_CONN_CONN_ASK_H

#include "conn/conn.h"

/* A connection that holds made output which is refused ends. */
void conn_ask_all(struct conn_env *env, struct lender *lender);

#endif
