/*
 * req_body: moves a request's body from state to state, and each piece to its taker: the handler,
 * the queue, or none. Called by protocols for pieces, by req.c for steps of the request, and by the
 * calls of h2d/handler.h. Never reads the bytes, and never refuses a request itself.
 */
#include "request/req_body.h"

#include <stdlib.h>

#include "base/pool.h"
#include "request/handler_call.h"

/* --- the queue -------------------------------------------------------------------------------- */

enum {
	PIECE_LEAST = 256,
	PIECES_KEPT = 32, /* of the largest: freeing and faulting them in again costs more than the
			   * copies */
};

static struct pool pool = { .size = sizeof(struct body_piece) + BODY_PIECE, .keep = PIECES_KEPT };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Adds an empty piece for n bytes or some of them; as large as their number. */
static struct body_piece *body_queue_add(struct body_queue *q, size_t n)
{
	size_t cap = BODY_PIECE - q->total % BODY_PIECE;
	size_t want = most(most(n, PIECE_LEAST), most(q->n, q->batch));
	bool pooled = want >= BODY_PIECE;
	struct body_piece *piece;

	if (!pooled)
		cap = least(cap, want);
	piece = pooled ? pool_get(&pool) : malloc(sizeof(*piece) + cap);
	if (piece == NULL)
		return NULL;
	*piece = (struct body_piece){ .cap = cap, .pooled = pooled };
	if (q->last != NULL)
		q->last->next = piece;
	else
		q->first = piece;
	q->last = piece;
	q->cost += sizeof(*piece) + (pooled ? BODY_PIECE : cap);
	return piece;
}

size_t body_queue_put(struct body_queue *q, const void *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		struct body_piece *piece = q->last;
		size_t some;

		if (piece == NULL || piece->n == piece->cap)
			piece = body_queue_add(q, n - done);
		if (piece == NULL)
			break;
		some = least(n - done, piece->cap - piece->n);
		memcpy(piece->bytes + piece->n, (const char *)data + done, some);
		piece->n += some;
		q->n += some;
		q->total += some;
		done += some;
	}
	return done;
}

struct body_piece *body_queue_take(struct body_queue *q)
{
	struct body_piece *piece = q->first;

	if (piece == NULL)
		return NULL;
	q->first = piece->next;
	if (q->first == NULL)
		q->last = NULL;
	piece->next = NULL;
	q->cost -= sizeof(*piece) + (piece->pooled ? BODY_PIECE : piece->cap);
	q->n -= piece->n;
	return piece;
}

struct body_piece *body_queue_take_all(struct body_queue *q, size_t *n)
{
	struct body_piece *pieces = q->first;

	*n = q->batch = q->n;
	q->first = q->last = NULL;
	q->n = q->cost = 0;
	return pieces;
}

void body_pieces_free(struct body_piece *pieces)
{
	while (pieces != NULL) {
		struct body_piece *next = pieces->next;

		if (pieces->pooled)
			pool_put(&pool, pieces);
		else
			free(pieces);
		pieces = next;
	}
}

size_t body_queue_clear(struct body_queue *q)
{
	size_t n;

	body_pieces_free(body_queue_take_all(q, &n));
	return n;
}

/* --- pieces ----------------------------------------------------------------------------------- */

const struct states req_body_states = {
	.of = "body",
	.rows = {
#define REQ_BODY_STATE(name, next, help) { #name, next },
#include "request/req_body_state.def"
	},
};

static void req_body_go(struct h2d_req *req, enum req_body_state state)
{
	if (req->body_state == REQ_BODY_NONE)
		req->body_left = req_body_max(req);
	STATES_STEP(&req_body_states, req->body_state, state);
}

/* True if a hook takes the body from the queue. */
static bool has_hook(const struct h2d_req *req)
{
	return req->body_state == REQ_BODY_HOOKED || req->body_state == REQ_BODY_DRAWN;
}

const struct err *req_body_came(struct h2d_req *req, const void *data, size_t *n)
{
	bool flows = req_body_flows(req);

	req->record.bytes_in += *n;
	if (!flows && !req_body_waits(req)) {
		req->stream->consume(req, *n);
		return NULL;
	}
	if (*n > req->body_left)
		return ERR_BODY_TOO_LARGE;
	req->body_left -= *n;
	if (req->body_state == REQ_BODY_FLOWS) {
		handler_call_body(req, data, *n);
		return NULL;
	}
	*n -= body_queue_put(&req->body_queue, data, *n);
	if (*n > 0)
		return ERR_NO_MEMORY;
	if (has_hook(req))
		req->hook->body(req);
	return NULL;
}

const struct err *req_body_trailer(struct h2d_req *req, struct slice name, struct slice value)
{
	if (!req_body_flows(req) && !req_body_waits(req))
		return NULL;
	switch (trailers_add(
		&req->trailers, &req->arena, req->env->conf.header_size, name, value)) {
	case 0:
		return NULL;
	case 1:
		return ERR_FIELDS_TOO_LARGE;
	default:
		return ERR_NO_MEMORY;
	}
}

static void end(struct h2d_req *req)
{
	req_body_go(req, REQ_BODY_OVER);
	handler_call_end(req);
}

void req_body_end(struct h2d_req *req)
{
	if (req->body_state == REQ_BODY_FLOWS) {
		end(req);
		return;
	}
	req->body_queue.ended = true;
	if (has_hook(req))
		req->hook->body(req);
}

/* Gives waiting pieces to the handler, which may pause again after each. */
static void hand_on(struct h2d_req *req)
{
	struct body_piece *piece;

	while (req->body_state == REQ_BODY_FLOWS &&
		(piece = body_queue_take(&req->body_queue)) != NULL) {
		handler_call_body(req, piece->bytes, piece->n);
		body_pieces_free(piece);
	}
	if (req->body_state == REQ_BODY_FLOWS && req->body_queue.ended)
		end(req);
}

void req_body_line(struct h2d_req *req)
{
	req_body_go(req, REQ_BODY_LINE);
}

void req_body_take(struct h2d_req *req)
{
	req_body_go(req, REQ_BODY_FLOWS);
}

void req_body_started(struct h2d_req *req)
{
	if (has_hook(req)) {
		req->hook->body(req);
	} else if (req->body_state == REQ_BODY_FLOWS) {
		req->stream->consume(req, 0);
		hand_on(req);
	} else if (req->body_state == REQ_BODY_LINE) {
		req_body_over(req);
	}
}

void req_body_drop(struct h2d_req *req)
{
	size_t n;

	req_body_go(req, req->body_state == REQ_BODY_LINE ? REQ_BODY_NONE : REQ_BODY_OVER);
	n = body_queue_clear(&req->body_queue);
	if (n > 0)
		req->stream->consume(req, n);
}

/* --- a handler's pause ------------------------------------------------------------------------ */

static void go_on(struct task *t)
{
	struct h2d_req *req = LIST_ENTRY(t, struct h2d_req, body_task);

	if (req->body_state != REQ_BODY_PAUSED)
		return;
	req_body_go(req, REQ_BODY_FLOWS);
	hand_on(req);
	/* No other call tells the protocol that the client's waiting body is taken. */
	if (req->body_state == REQ_BODY_FLOWS)
		req->stream->consume(req, 0);
}

void h2d_body_pause(struct h2d_req *req)
{
	HANDLER_CALL();
	if (req->body_state == REQ_BODY_FLOWS)
		req_body_go(req, REQ_BODY_PAUSED);
	if (req->body_task.fn == NULL)
		task_init(&req->body_task, go_on);
	loop_cancel(&req->body_task);
}

void h2d_body_resume(struct h2d_req *req)
{
	HANDLER_CALL();
	if (req->body_state == REQ_BODY_PAUSED)
		loop_ready(req->env->loop, &req->body_task);
}

void h2d_consume(struct h2d_req *req, size_t n)
{
	HANDLER_CALL();
	HANDLER_MUST(req, n <= req->taken, CREDIT);
	req->taken -= n;
	req->stream->consume(req, n);
}

/* --- hooks ------------------------------------------------------------------------------------ */

void req_hook(struct h2d_req *req, const struct req_hook *hook, void *state)
{
	H2D_ASSERT(req->hook == NULL);
	req->hook = hook;
	req->hook_state = state;
	if (hook->body != NULL)
		req_body_go(req, REQ_BODY_HOOKED);
}

void req_body_draw(struct h2d_req *req)
{
	if (req->body_state != REQ_BODY_HOOKED)
		return;
	req_body_go(req, REQ_BODY_DRAWN);
	req->stream->consume(req, 0);
}

void req_unhook(struct h2d_req *req)
{
	req->hook = NULL;
	req_body_over(req);
}

void req_body_leave(struct h2d_req *req)
{
	const struct req_hook *hook = req->hook;

	req->hook = NULL;
	if (hook != NULL && hook->gone != NULL)
		hook->gone(req);
	req_body_over(req);
	if (req->body_task.fn != NULL)
		loop_cancel(&req->body_task);
}
