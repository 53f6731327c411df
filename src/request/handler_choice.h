/*
 * handler_choice: chooses a request's handler: that of a route, the health check, or the document
 * root; and answers a wrong method (405, OPTIONS). req.c calls it once, when the gate has admitted
 * the request, and the gate if a location refuses methods; it starts no handler.
 */
#pragma once

#include "request/req.h"

/*
 * The handler, which belongs to the route table or to env, and in *body its use of a request body.
 * NULL: the request was answered here.
 */
const struct h2d_handler *handler_choice(struct h2d_req *req, enum h2d_body *body);

/* 405: of the path's methods, these are refused, with that of the request. */
void handler_choice_refuse(struct h2d_req *req, unsigned refused);

/* Answers OPTIONS of "*", with the methods of all paths here (RFC 9110, 9.3.7). */
void handler_choice_any(struct h2d_req *req);

/*
 * True if the choice, and all rules, are the same with the target's encoded slash
 * ("/@scope%2fname", as clients of package registries send) separating segments or not: a proxy in
 * front, with rules of its own, may see one segment where h2d sees two. So neither access, nor
 * route, nor location may depend on it; else the request is not served.
 */
bool handler_choice_despite_slash(const struct h2d_req *req);

/* True if the path has a route for GET whose handler takes WebSockets. */
bool handler_choice_has_websocket(struct h2d_req *req);
