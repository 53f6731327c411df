/*
 * h2_look: streams with a closed window, missing request bodies and a connection with a closed
 * window each have their own time, which no other traffic of the peer extends.
 */
#include "base/counters.h"
#include "proto/h2.h"
#include "request/req_client.h"

enum { LOOK_MAX_MS = 2000 }; /* the peer does not cause a late loop */

/*
 * Counts a look: bytes have passed so far, and the peer has stalled the rest for ms since the last
 * look. True: that makes limit_ms without progress.
 */
static bool patience_ends(struct h2_patience *p, enum h2_patience_for for_what, uint64_t bytes,
	uint64_t ms, uint64_t limit_ms)
{
	if (p->for_what != for_what || bytes - p->from >= limit_ms * PROTO_LEAST_RATE / 1000) {
		p->for_what = for_what;
		p->from = bytes;
		p->held_ms = 0;
		return false;
	}
	p->held_ms += ms;
	if (p->held_ms < limit_ms)
		return false;
	p->for_what = H2_PATIENCE_NONE;
	return true;
}

static void timed_out(struct h2_stream *s, const struct err *err)
{
	COUNT(timeouts, 1);
	req_fault(&s->req, err);
}

static void reset(struct h2_stream *s, uint32_t code)
{
	nghttp2_submit_rst_stream(s->h2->session, NGHTTP2_FLAG_NONE, s->id, code);
	s->h2->host->wake(s->h2->host);
}

/* Checks a stream whose content is stopped by its window. h2->patience has the time of the
 * connection's. */
static void look_at_window(struct h2_stream *s, uint64_t ms)
{
	nghttp2_session *session = s->h2->session;
	struct body *body = &s->req.reply.body;
	bool held = nghttp2_session_get_stream_remote_window_size(session, s->id) <= 0;

	if (s->h2->proto.eof) {
		reset(s, NGHTTP2_CANCEL);
		return;
	}
	/* The bytes of a DATA frame in progress are ready. */
	if (!s->h2->out_blocked && body->ops->rest != NULL)
		body->ops->rest(body);
	if (patience_ends(&s->patience, H2_PATIENCE_SEND, s->req.record.bytes_out, held ? ms : 0,
		    s->h2->host->conn->timeouts.send)) {
		timed_out(s, ERR_TIMEOUT_SEND);
		reset(s, NGHTTP2_CANCEL);
	}
}

/*
 * Checks a stream that expects a body: it is being taken, before the answer, or it is the rest
 * after an answer. The handlers of other streams may have filled the connection's window.
 */
static void look_at_body(struct h2_stream *s, enum proto_why why, uint64_t ms)
{
	nghttp2_session *session = s->h2->session;
	bool rest = why == PROTO_WHY_REST;
	bool held = rest ? nghttp2_session_get_stream_local_window_size(session, s->id) > 0
			 : why == PROTO_WHY_BODY;

	/* The rest never comes after the peer's end: treated like a reset by the peer. */
	if (!rest && s->h2->proto.eof) {
		reset(s, NGHTTP2_CANCEL);
		return;
	}
	if (!patience_ends(&s->patience, H2_PATIENCE_BODY, s->share.came + s->req.record.bytes_out,
		    held ? ms : 0, s->h2->host->conn->timeouts.body))
		return;
	timed_out(s, ERR_TIMEOUT_BODY);
	/* RFC 9113, 8.1: the answer is complete, and the rest not needed. */
	if (rest)
		reset(s, NGHTTP2_NO_ERROR);
	else
		req_refuse(&s->req, 408);
}

static void look_at(struct h2_stream *s, uint64_t ms, uint64_t now_ms)
{
	enum proto_why why = h2_stream_why(s);

	proto_look_at(&s->req, why, now_ms);
	if (why == PROTO_WHY_BODY || why == PROTO_WHY_TAKE || why == PROTO_WHY_REST)
		look_at_body(s, why, ms);
	else if (why == PROTO_WHY_WINDOW)
		look_at_window(s, ms);
	else /* not caused by the peer */
		s->patience.for_what = H2_PATIENCE_NONE;
}

/* Time caused by the peer: none while its input is not read. */
static uint64_t time_of(struct h2 *h2, uint64_t now_ms)
{
	uint64_t ms = now_ms - h2->looked_ms;

	if (!h2->window.full)
		return ms < LOOK_MAX_MS ? ms : LOOK_MAX_MS;
	if (!window_full(&h2->window))
		h2->host->wake(h2->host);
	return 0;
}

const struct err *h2_look(struct proto *p, uint64_t now_ms, const struct err *late)
{
	struct h2 *h2 = (struct h2 *)p;
	bool held = nghttp2_session_get_remote_window_size(h2->session) <= 0 &&
		    h2->nwaiting < h2->nstreams;
	uint64_t ms;

	if (late != NULL)
		return late;
	ms = time_of(h2, now_ms);
	h2->looked_ms = now_ms;
	/* After its end the peer may still read, or be gone. Then its host answers a PING with a
	 * reset, which saves the work for it. */
	if (p->eof && !h2->asked) {
		h2->asked = true;
		nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, (const uint8_t *)"there?\0");
		h2->host->wake(h2->host);
	}
	if (!nghttp2_session_want_write(h2->session))
		h2_pages_look(&h2->pages, now_ms);
	if (h2->nstreams == 0) {
		h2->patience.for_what = H2_PATIENCE_NONE;
		return NULL;
	}
	if (patience_ends(&h2->patience, H2_PATIENCE_SEND, h2->sent, held ? ms : 0,
		    h2->host->conn->timeouts.send))
		return ERR_TIMEOUT_SEND;
	LIST_EACH(struct h2_stream, s, node, &h2->streams)
		look_at(s, ms, now_ms);
	return NULL;
}
