/*
 * gate: what the configuration demands of a request before any handler sees it, the same for files
 * and compiled routes, on every protocol: redirect-to-https, the right certificate, redirects,
 * addresses, passwords, in this order. Called by req.c, and for a file under another name by
 * files/reply_file.c and store/store_gate.c; calls nothing of them but the one continuation it is
 * given, when a password check took time.
 */
#ifndef H2D_REQUEST_GATE_H
#define H2D_REQUEST_GATE_H

#include "request/req.h"

enum gate_result {
	GATE_GO,       /* the rules are met: the handler's turn */
	GATE_ANSWERED, /* the request was answered here */
	GATE_LATER,    /* a password is being checked: done() will say which of the two */
};

/* Called in the loop, never by gate_pass() itself. ctx: as given to gate_pass_file(), else NULL. */
typedef void gate_done(struct h2d_req *req, enum gate_result result, void *ctx);

/* With GATE_LATER req->gate is set until done() was called or gate_leave() called the check off. */
enum gate_result gate_pass(struct h2d_req *req, gate_done *done);

/*
 * A handler answers with the file at path below the root, which is not the path that was asked for:
 * who may ask for path, by address and password, holds beside the rules that gate_pass() saw met.
 * path lives as long as the request. Results and done() as with gate_pass().
 */
enum gate_result gate_pass_file(struct h2d_req *req, struct slice path, gate_done *done, void *ctx);

/* A request that waits is gone: wants no verdict any more. */
void gate_leave(struct h2d_req *req);

#endif
