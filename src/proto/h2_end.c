/*
 * h2_end: ends a HTTP/2 connection for what its peer did, with GOAWAY, and says so of the ends that
 * nghttp2 makes by itself. Called by h2.c and by nghttp2 before each frame of its own; never ends a
 * connection twice.
 */
#include "base/counters.h"
#include "proto/h2.h"

static void count(const struct err *err)
{
	if (err->h2_code == NGHTTP2_ENHANCE_YOUR_CALM)
		COUNT(floods, 1);
}

void h2_end(struct h2 *h2, const struct err *err)
{
	if (h2->err != NULL || h2->own != NULL)
		return;
	h2->err = err;
	count(err);
	/* Behind the other kind of GOAWAY nghttp2 would not send the answer. */
	if (err == ERR_HEADER_BLOCK)
		nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
			nghttp2_session_get_last_proc_stream_id(h2->session), err->h2_code, NULL,
			0);
	else
		nghttp2_session_terminate_session(h2->session, err->h2_code);
}

/* What a code of nghttp2's own GOAWAY stands for. */
static const struct err *meant(uint32_t code)
{
	switch (code) {
	case NGHTTP2_INTERNAL_ERROR: /* its limit of resets, and nothing else */
		return ERR_RESETS;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return ERR_FLOOD;
	case NGHTTP2_STREAM_CLOSED:
		return ERR_STREAM_CLOSED;
	case NGHTTP2_FLOW_CONTROL_ERROR:
		return ERR_FLOW_CONTROL;
	case NGHTTP2_FRAME_SIZE_ERROR:
		return ERR_FRAME_SIZE;
	case NGHTTP2_COMPRESSION_ERROR:
		return ERR_COMPRESSION;
	default:
		return ERR_STREAM_PROTOCOL;
	}
}

int h2_end_before_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct h2 *h2 = user;
	const struct err *err;

	(void)session;
	if (frame->hd.type != NGHTTP2_GOAWAY || frame->goaway.error_code == NGHTTP2_NO_ERROR ||
		h2->err != NULL || h2->own != NULL)
		return 0;
	err = meant(frame->goaway.error_code);
	h2->own = err;
	count(err);
	COUNT(protocol_errors, 1);
	err_log(err, &h2->host->conn->peer);
	return 0;
}
