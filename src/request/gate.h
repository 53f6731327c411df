/*
 * gate: the configuration's rules for a request before any handler gets it, the same for files and
 * compiled routes, on every protocol: redirect-to-https, the right certificate, redirects,
 * addresses, passwords, in this order. Called by req.c, and for a file under another name by
 * files/reply_file.c and store/store_gate.c; calls only the continuation they pass, when a password
 * check took time.
 */
#pragma once

#include "request/req.h"

/* Counts one more request of a client, for its location's rate: over that it is refused, or only
 * logged (dry-run). False: it was answered 429, before the gate, so that refusals cost little. */
bool gate_take_request(struct h2d_req *req);

static inline bool gate_request(struct h2d_req *r)
{
	return __builtin_expect(r->location->requests == NULL, true) || gate_take_request(r);
}

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

/*
 * demand: the combined rules of all locations for a path: each of them must admit the request. Made
 * by the gate for each request of a guarded site; borrows from the site, and never answers.
 */
struct demand {
	bool hidden;             /* a name of the path is never served */
	bool in;                 /* by address */
	bool known;              /* by the subject of its certificate */
	unsigned refused;        /* methods, 1 << enum h2d_method */
	const struct auth *auth; /* NULL: no password */
};

/*
 * Combines the rules of the path's location; of a directory's index files, or of the files whose
 * extension the path omits; and of the file beside which one with a coding's extension is. false:
 * memory is out.
 */
bool demand_of(struct demand *d, struct h2d_req *req, struct slice path);

/*
 * In req's arena: for each location of its site, the server's own last, '1' if its rules admit req
 * without another password than the one for the request's path, else '0'. NULL: memory is out.
 */
char *demand_open(struct h2d_req *req);

/* True if open has '1' for the locations of path, and of the file beside which it is. Pure. */
bool demand_opens(const struct site *site, const char *open, struct slice path);

/* True if the method of req is refused: a resumed upload was begun by PUT or POST. */
bool demand_refuses_method(const struct demand *d, const struct h2d_req *req);
