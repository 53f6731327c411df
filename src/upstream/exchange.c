/*
 * exchange: see exchange.h. Nothing is sent twice but a request without a body whose method is
 * idempotent (RFC 9110, 9.2.2), and once; what no peer has got may go to any.
 */
#include "upstream/exchange.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum {
	EXPECT_MS = 1000,    /* a peer that ignores "expect: 100-continue" gets the body then */
	TUNNEL_MS = 3600000, /* a tunnel without a byte ends */
	TARGET_SHOWN = 200,
};

const struct states exchange_states = {
	.of = "proxied request",
	.rows = {
#define EXCHANGE_STATE(name, next, help) { #name, next },
#include "upstream/exchange_state.def"
	},
};

void exchange_go(struct exchange *x, enum exchange_state state)
{
	STATES_STEP(&exchange_states, x->state, state);
}

void exchange_drop_piece(struct exchange *x)
{
	if (x->piece == NULL)
		return;
	x->req->stream->consume(x->req, x->piece->n);
	body_pieces_free(x->piece);
	x->piece = NULL;
}

static bool exchange_has_link(const struct exchange *x)
{
	return x->state >= EXCHANGE_CONNECT && x->state <= EXCHANGE_TUNNEL;
}

void exchange_leave(struct exchange *x, bool good, enum exchange_state state)
{
	exchange_go(x, state);
	x->out[0].n = x->out[1].n = x->out[2].n = 0;
	exchange_drop_piece(x);
	link_leave(&x->turn, good);
	timer_disarm(&x->req->env->loop->wheel, &x->timer);
	loop_cancel(&x->flush);
}

/* --- failures --------------------------------------------------------------------------------- */

static bool is_idempotent(enum h2d_method method)
{
	return method == H2D_GET || method == H2D_HEAD || method == H2D_PUT ||
	       method == H2D_DELETE || method == H2D_OPTIONS || method == H2D_PROPFIND;
}

/* Another link may have a better end. */
static bool exchange_may_retry(const struct exchange *x)
{
	if (x->begun || x->req->reply.ready || x->turn.link == NULL)
		return false;
	if (x->state == EXCHANGE_CONNECT)
		return true;
	return x->state == EXCHANGE_HEAD && !x->retried && response_is_untouched(&x->in) &&
	       x->req->upgrade.n == 0 && is_idempotent(x->req->method);
}

void exchange_join(struct exchange *x)
{
	timer_arm(&x->req->env->loop->wheel, &x->timer, clock_ms() + x->proxy->connect_ms);
	x->turn.careful = x->req->has_body || !is_idempotent(x->req->method);
	if (!link_ask(&x->turn)) {
		exchange_leave(x, false, EXCHANGE_OVER);
		reply_later(x->req, ERR_UPSTREAM_QUEUE, 1000);
	}
}

static void exchange_retry(struct exchange *x)
{
	bool connected = x->state == EXCHANGE_HEAD;

	x->retried |= connected;
	x->turn.fresh = connected;
	if (connected) /* by now the same peer may be another process */
		x->turn.tried = 0;
	exchange_leave(x, false, EXCHANGE_LINE);
	exchange_join(x);
}

void exchange_fail(struct exchange *x, const struct err *err, const char *why)
{
	struct h2d_req *req = x->req;
	bool again = err != ERR_UPSTREAM_TIMEOUT && exchange_may_retry(x);
	/* A link that was idle may have had its end on the way. */
	bool counts = !(again && x->turn.link->used);

	if (counts && x->turn.link != NULL)
		link_counts(x->turn.link, err);
	if (counts && exchange_has_link(x))
		log_peer(LEVEL_WARN, "upstream %.*s: %s%s%s: %.*s %.*s; %s",
			SLICE_ARG(link_name(&x->turn)), err->text, why != NULL ? ": " : "",
			why != NULL ? why : "", SLICE_ARG(req->method_text),
			req->target.n < TARGET_SHOWN ? (int)req->target.n : TARGET_SHOWN,
			req->target.p,
			again              ? "trying again"
			: req->reply.ready ? "cutting the response off"
					   : "replying with an error");
	if (again) {
		exchange_retry(x);
		return;
	}
	COUNT(upstream_failures, 1);
	req_record_error(&req->record, err);
	exchange_leave(x, false, EXCHANGE_BROKEN);
	if (req->reply.ready) {
		req_resume(req);
		return;
	}
	reply_no_fields(&req->reply);
	body_none(&req->reply.body);
	reply_error(req, err->status);
}

/* --- time ------------------------------------------------------------------------------------- */

void exchange_wait(struct exchange *x)
{
	struct wheel *wheel = &x->req->env->loop->wheel;
	bool sends = x->out[0].n + x->out[1].n + x->out[2].n > 0;

	if (x->state == EXCHANGE_TUNNEL)
		timer_arm(wheel, &x->timer, clock_ms() + TUNNEL_MS);
	else if (x->state == EXCHANGE_HEAD && x->expects)
		timer_arm(wheel, &x->timer, clock_ms() + EXPECT_MS);
	else if (sends || x->later ||
		 (x->state == EXCHANGE_HEAD && (x->ended || x->deaf || x->req->upgrade.n > 0)))
		timer_arm(wheel, &x->timer, clock_ms() + x->proxy->silence_ms);
	else /* the client is waited for */
		timer_disarm(wheel, &x->timer);
}
