/*
 * req_body: who takes a request's body (req_body_state.def): nobody, its handler, or a hook, a
 * module that works for the handler; and where pieces wait meanwhile. Protocols feed it and ask
 * what becomes of it; handlers pause it. What the end of the body means is the taker's business.
 */
#ifndef H2D_REQUEST_REQ_BODY_H
#define H2D_REQUEST_REQ_BODY_H

#include "request/req.h"

extern const struct states req_body_states;

/*
 * A module that works for a handler on its request, and takes the pieces of the body out of
 * body_queue itself: it gives their credit back, and sees by body_queue.ended that there are no
 * more.
 */
struct req_hook {
	void (*body)(struct h2d_req *req); /* body_queue has more, or its end; may be NULL */
	void (*gone)(struct h2d_req *req); /* refused, or gone: the last call */
};

/* Whether the client is to send the body now: somebody takes it. */
static inline bool req_body_flows(const struct h2d_req *req)
{
	return req->body_state == REQ_BODY_FLOWS || req->body_state == REQ_BODY_DRAWN;
}

/* The bytes that a body may have. */
static inline uint64_t req_body_max(const struct h2d_req *req)
{
	return req->location->body_size > 0 ? req->location->body_size : UINT64_MAX;
}

/* Whether pieces wait for somebody: they stay in memory, without credit. */
static inline bool req_body_waits(const struct h2d_req *req)
{
	return req->body_state == REQ_BODY_LINE || req->body_state == REQ_BODY_PAUSED ||
	       req->body_state == REQ_BODY_HOOKED;
}

/* Whether a hook can have all of it: none was handed on, and none dropped. */
static inline bool req_body_is_whole(const struct h2d_req *req)
{
	return req->body_state != REQ_BODY_OVER && req->body_queue.n == req->record.bytes_in;
}

/* Whether the handler goes on with it, or has paused it, while the reply is sent. */
static inline bool req_body_duplex(const struct h2d_req *req)
{
	return req->reply.ready &&
	       (req->body_state == REQ_BODY_FLOWS || req->body_state == REQ_BODY_PAUSED);
}

/*
 * Whether the request waits behind others: for a password's check, or its body for a place among
 * the files.
 */
static inline bool req_is_in_line(const struct h2d_req *req)
{
	return req->gate != NULL || req->body_state == REQ_BODY_HOOKED;
}

/*
 * A piece of it came. NULL, or why the request is to be refused; then *n bytes of the piece have no
 * credit yet.
 */
const struct err *req_body_came(struct h2d_req *req, const void *data, size_t *n);

/* A field behind it came, in front of its end; its bytes live for the call. NULL, or why the
 * request is to be refused. RFC 9110, 6.5.1: where nobody takes the body, it is dropped. */
const struct err *req_body_trailer(struct h2d_req *req, struct slice name, struct slice value);

/* The end of it came. */
void req_body_end(struct h2d_req *req);

/* The gate decides first. */
void req_body_line(struct h2d_req *req);

/* The handler takes it. */
void req_body_take(struct h2d_req *req);

/* Hands on what came while it was in line; drops it where nobody takes it. */
void req_body_started(struct h2d_req *req);

/* For h2d_body_pause() and _resume(). */
void req_body_pause(struct h2d_req *req);
void req_body_resume(struct h2d_req *req);

/* The request has its answer, or one that is made of the body has its end: gives the credit of what
 * waits back. Inline where nobody takes a body, as most have none. */
void req_body_drop(struct h2d_req *req);
static inline void req_body_over(struct h2d_req *req)
{
	if (req->body_state != REQ_BODY_NONE && req->body_state != REQ_BODY_OVER)
		req_body_drop(req);
}

/*
 * hook works on the request until it calls req_unhook(): then it has replied, or had the handler
 * reply. Called by handlers' calls. If it takes the body, that waits in the queue, and the hook
 * says by req_body_draw() when it is ready for it.
 */
void req_hook(struct h2d_req *req, const struct req_hook *hook, void *state);
void req_body_draw(struct h2d_req *req);
void req_unhook(struct h2d_req *req);

/* The request is refused, or gone: so is the hook; what is left of the body is still there for it.
 */
void req_body_leave(struct h2d_req *req);

#endif
