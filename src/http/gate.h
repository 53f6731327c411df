/*
 * gate: what the configuration demands of a request before any handler sees it, the same for files and
 * compiled routes, on every protocol: redirect-to-https, the right certificate, redirects, addresses,
 * passwords, in this order. Called by req.c only. A password takes time: until the verdict is there, the
 * request waits here, and the pieces of its body with it.
 */
#ifndef H2D_HTTP_GATE_H
#define H2D_HTTP_GATE_H

#include "http/req.h"

/*
 * True: go on. False: it was answered here, or it waits (req->gate is set), and req_enter() or an answer
 * follows.
 */
bool gate_pass(struct h2d_req *req);

/*
 * Pieces of the body of a request that waits, and its end. They are copied and given no credit, so the
 * peer's window bounds them; handed on in order when the verdict is there.
 */
void gate_body(struct h2d_req *req, const void *data, size_t n);
void gate_end(struct h2d_req *req);

/* A request that waits is gone: gives the credit of its pieces back, wants no verdict any more. */
void gate_leave(struct h2d_req *req);

#endif
