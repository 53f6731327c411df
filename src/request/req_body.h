/*
 * req_body: the taker of a request's body (req_body_state.def): none, its handler, or a hook, a
 * module that works for the handler; and the queue of waiting pieces. Protocols feed it and ask for
 * its state; handlers pause it. The taker interprets the end of the body.
 */
#pragma once

#include "request/req.h"

extern const struct states req_body_states;

/*
 * body_queue: bytes of a request body that are not taken yet, in order. A request has one:
 * req_body.c puts bytes in, and takes them out unless a hook does. No credit is given for bytes in
 * it, so the peer's window bounds it. Single bytes share memory: they cost at most about twice
 * their number.
 */

/* Appends a copy of bytes. Returns how many: all, unless memory is out. */
size_t body_queue_put(struct body_queue *q, const void *data, size_t n);

/* Takes the first piece, for the caller to free; NULL: none. */
struct body_piece *body_queue_take(struct body_queue *q);

/* Takes all pieces, a list for the caller to free; *n: bytes in them. */
struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n);

/* Frees such a list, or a piece. On the loop's thread. */
void body_pieces_free(struct body_piece *pieces);

/* Frees all pieces. Returns their bytes: that much credit was not given. */
size_t body_queue_clear(struct body_queue *q);

/*
 * A module that works for a handler on its request, and takes the pieces of the body from
 * body_queue itself: it gives their credit back, and body_queue.ended marks the last.
 */
struct req_hook {
	void (*body)(struct h2d_req *req); /* body_queue has more, or its end; may be NULL */
	void (*gone)(struct h2d_req *req); /* refused, or gone: the last call; may be NULL */
};

/* True if the client should send the body now: it is being taken. */
static inline bool req_body_flows(const struct h2d_req *req)
{
	return req->body_state == REQ_BODY_FLOWS || req->body_state == REQ_BODY_DRAWN;
}

/* The most bytes of a body. */
static inline uint64_t req_body_max(const struct h2d_req *req)
{
	return req->location->body_size > 0 ? req->location->body_size : UINT64_MAX;
}

/* True if pieces wait: they stay in memory, without credit. */
static inline bool req_body_waits(const struct h2d_req *req)
{
	return req->body_state == REQ_BODY_LINE || req->body_state == REQ_BODY_PAUSED ||
	       req->body_state == REQ_BODY_HOOKED;
}

/* True if a hook can have all of it: none was given on, and none dropped. */
static inline bool req_body_is_whole(const struct h2d_req *req)
{
	return req->body_state != REQ_BODY_OVER && req->body_queue.n == req->record.bytes_in;
}

/* True if it is taken while the reply is sent. */
static inline bool req_body_duplex(const struct h2d_req *req)
{
	return req->reply.duplex && req->body_state != REQ_BODY_OVER;
}

/*
 * True if the request waits behind others: for a password's check, or its body for a place among
 * the files.
 */
static inline bool req_is_in_line(const struct h2d_req *req)
{
	return req->gate != NULL || req->body_state == REQ_BODY_HOOKED;
}

/*
 * A piece came. NULL, or why the request must be refused; then *n bytes of the piece have no credit
 * yet.
 */
const struct err *req_body_came(struct h2d_req *req, const void *data, size_t *n);

/* Takes a piece of request body; its end is req_body_end(). */
static inline void req_body(struct h2d_req *req, const void *data, size_t n)
{
	const struct err *err = req_body_came(req, data, &n);

	if (err != NULL)
		req_lose(req, err, n);
}

/* A trailer came, before the end; its bytes live for the call. NULL, or why the request must be
 * refused. RFC 9110, 6.5.1: dropped unless the body is being taken. */
const struct err *req_body_trailer(struct h2d_req *req, struct slice name, struct slice value);

/* The end came. */
void req_body_end(struct h2d_req *req);

/* The gate decides first. */
void req_body_line(struct h2d_req *req);

/* The handler takes it. */
void req_body_take(struct h2d_req *req);

/* Gives on the bytes that waited in line; drops an unwanted body. */
void req_body_started(struct h2d_req *req);

/* The request has its answer, or one made from the body is complete: gives back the credit of
 * waiting bytes. Inline without a taker, as most requests have no body. */
void req_body_drop(struct h2d_req *req);
static inline void req_body_over(struct h2d_req *req)
{
	if (req->body_state != REQ_BODY_NONE && req->body_state != REQ_BODY_OVER)
		req_body_drop(req);
}

/*
 * Lets hook work on the request until it calls req_unhook(): then it has replied, or the handler
 * has. Called by handlers' calls. If it takes the body, that waits in the queue, and the hook calls
 * req_body_draw() when it is ready for it.
 */
void req_hook(struct h2d_req *req, const struct req_hook *hook, void *state);
void req_body_draw(struct h2d_req *req);
void req_unhook(struct h2d_req *req);

/* The request is refused, or gone: ends the hook, which can still take the rest of the body. */
void req_body_leave(struct h2d_req *req);
