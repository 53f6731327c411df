/*
 * req_state: where a request stands in its life, and the one writer of that. The steps are those of
 * req_state.def.
 */
#ifndef H2D_REQUEST_REQ_STATE_H
#define H2D_REQUEST_REQ_STATE_H

#include "base/states.h"

struct h2d_req;

enum req_state {
#define REQ_STATE(name, next, help) REQ_##name,
#include "request/req_state.def"
	REQ_STATES
};
extern const struct states req_states;

enum req_body_state {
#define REQ_BODY_STATE(name, next, help) REQ_BODY_##name,
#include "request/req_body_state.def"
	REQ_BODY_STATES
};

/* The only writer of req->state: asserts the predecessor, counts. */
void req_go(struct h2d_req *req, enum req_state state);

#endif
