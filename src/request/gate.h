/*
 * gate: the configuration's rules for a request before any handler gets it, the same for files and
 * compiled routes, on every protocol: redirect-to-https, the right certificate, redirects,
 * addresses, passwords, in this order. Called by req.c, and for a file under another name by
 * files/reply_file.c and store/store_gate.c; calls only the continuation they pass, when a password
 * check took time.
 */
#ifndef H2D_REQUEST_GATE_H
#define H2D_REQUEST_GATE_H

#include "request/req.h"

enum gate_result {
	GATE_GO,       /* the rules are met: the handler's turn */
	GATE_ANSWERED, /* the request was answered here */
	GATE_LATER,    /* a password is being checked: done() gets one of the two */
};

/* Called in the loop, never by gate_pass() itself. ctx: as given to gate_pass_file(), else NULL. */
typedef void gate_done(struct h2d_req *req, enum gate_result result, void *ctx);

/* With GATE_LATER req->gate is set until done() was called or gate_leave() cancelled the check. */
enum gate_result gate_pass(struct h2d_req *req, gate_done *done);

/*
 * A handler answers with the file at path below the root, which is not the requested path: the
 * rules for path, by address and password, apply besides those that gate_pass() checked. path lives
 * as long as the request. Results and done() as with gate_pass().
 */
enum gate_result gate_pass_file(struct h2d_req *req, struct slice path, gate_done *done, void *ctx);

/* A waiting request is gone: cancels the check. */
void gate_leave(struct h2d_req *req);

#endif
