/*
 * top_ask: asks for /status.json over HTTP/1.1, waiting for the answer: a client for one resource
 * of one server, and nothing more.
 */
#ifndef H2D_TOP_TOP_ASK_H
#define H2D_TOP_TOP_ASK_H

#include "base/strbuf.h"
#include "top/top_source.h"

/* Puts the content into body, which is empty. 0, or -1: error says why not. */
int top_ask(const struct top_source *s, struct strbuf *body, char error[TOP_ERROR]);

#endif
