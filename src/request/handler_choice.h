/*
 * handler_choice: which handler answers a request: that of a route, the health check, or the
 * document root; and what is said where the method does not fit (405, OPTIONS). req.c calls it
 * once, when the gate has let the request in, and the gate where a location takes less; it starts
 * no handler.
 */
#ifndef H2D_REQUEST_HANDLER_CHOICE_H
#define H2D_REQUEST_HANDLER_CHOICE_H

#include "request/req.h"

/*
 * The handler, which belongs to the route table or to env, and in *body what it does with a request
 * body. NULL: the request was answered here.
 */
const struct h2d_handler *handler_choice(struct h2d_req *req, enum h2d_body *body);

/* 405: of the methods that the path has, these are refused, and that of the request is one of them.
 */
void handler_choice_refuse(struct h2d_req *req, unsigned refused);

/* Answers OPTIONS of "*", with all that can be asked of any path here (RFC 9110, 9.3.7). */
void handler_choice_any(struct h2d_req *req);

/*
 * Whether the choice, and all that is demanded, is the same where the target's encoded slash
 * ("/@scope%2fname", as clients of package registries ask) parts segments and where it does not: a
 * proxy in front, with rules of its own, may see one segment where h2d sees two. So nothing may
 * depend on it, neither access, nor a route, nor a location; else the request is not served.
 */
bool handler_choice_despite_slash(const struct h2d_req *req);

/* Whether the path has a route for GET whose handler takes WebSockets. */
bool handler_choice_has_websocket(struct h2d_req *req);

#endif
