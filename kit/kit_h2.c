/*
 * kit_h2: a client of HTTP/2 for h2d/test.h: an nghttp2 session with one stream at a time.
 */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "kit/kit.h"

enum { FIELDS = 64 };

/* Takes output from the session. */
static void flush(struct h2d_test *t)
{
	const uint8_t *p;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(t->session, &p)) > 0)
		kit_say(t, p, (size_t)n);
	H2D_ASSERT(n == 0);
}

/* --- the answer ------------------------------------------------------------------------------- */

static int on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t nlen,
	const uint8_t *value, size_t vlen, uint8_t flags, void *user)
{
	struct h2d_test *t = user;
	struct slice n = slice_of((const char *)name, nlen);

	(void)s, (void)flags;
	if (f->hd.stream_id != t->stream)
		return 0;
	if (slice_eq(n, SLICE(":status"))) {
		t->fields.n = 0;
		t->status = atoi((const char *)value);
	} else {
		kit_field(t, n, slice_of((const char *)value, vlen));
	}
	return 0;
}

static int on_chunk(
	nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *user)
{
	struct h2d_test *t = user;

	(void)s, (void)flags;
	if (id == t->stream)
		strbuf_add(&t->content, slice_of((const char *)data, len));
	return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *f, void *user)
{
	struct h2d_test *t = user;

	(void)s;
	if (f->hd.stream_id == t->stream && t->stream > 0 && t->status >= 200 &&
		(f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		t->complete = true;
	return 0;
}

static void kit_h2_take(struct h2d_test *t, const void *data, size_t n)
{
	ssize_t rc = nghttp2_session_mem_recv(t->session, data, n);

	H2D_ASSERT(rc == (ssize_t)n);
	flush(t);
}

/* --- the request ------------------------------------------------------------------------------ */

static ssize_t read_body(nghttp2_session *s, int32_t id, uint8_t *buf, size_t length,
	uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct h2d_test *t = user;
	size_t n = t->body.n < length ? t->body.n : length;

	(void)s, (void)id, (void)source;
	if (n > 0) {
		memcpy(buf, t->body.p, n);
		memmove(t->body.p, t->body.p + n, t->body.n - n);
		t->body.n -= n;
	}
	if (t->body.n == 0 && t->body_ended)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (n == 0)
		return NGHTTP2_ERR_DEFERRED;
	return (ssize_t)n;
}

static nghttp2_nv nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
		strlen(value), NGHTTP2_NV_FLAG_NONE };
}

static void kit_h2_begin(struct h2d_test *t, const char *method, const char *path,
	const char *const *fields, bool body, int64_t length)
{
	const nghttp2_data_provider source = { .read_callback = read_body };
	nghttp2_nv head[FIELDS] = { nv(":method", method), nv(":scheme", "http"), nv(":path", path),
		nv(":authority", "localhost") };
	size_t n = 4;
	char text[24];

	for (; fields[0] != NULL; fields += 2) {
		H2D_ASSERT(n < FIELDS - 1);
		head[n++] = nv(fields[0], fields[1]);
	}
	if (body && length >= 0) {
		snprintf(text, sizeof(text), "%lld", (long long)length);
		head[n++] = nv("content-length", text);
	}
	t->body.n = 0;
	t->body_ended = false;
	t->stream = nghttp2_submit_request(t->session, NULL, head, n, body ? &source : NULL, NULL);
	H2D_ASSERT(t->stream > 0);
	flush(t);
}

static void go_on(struct h2d_test *t)
{
	nghttp2_session_resume_data(t->session, t->stream);
	flush(t);
}

static void kit_h2_piece(struct h2d_test *t, const void *data, size_t len)
{
	strbuf_add(&t->body, slice_of(data, len));
	H2D_ASSERT(!t->body.failed);
	go_on(t);
}

static void kit_h2_end(struct h2d_test *t)
{
	t->body_ended = true;
	go_on(t);
}

/* --- the connection --------------------------------------------------------------------------- */

static void open_session(struct h2d_test *t)
{
	nghttp2_session_callbacks *cb;
	nghttp2_session *session;
	int rc = nghttp2_session_callbacks_new(&cb);

	H2D_ASSERT(rc == 0);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	rc = nghttp2_session_client_new(&session, cb, t);
	H2D_ASSERT(rc == 0);
	nghttp2_session_callbacks_del(cb);
	t->session = session;
	nghttp2_submit_settings(session, 0, NULL, 0);
	flush(t);
}

static void close_session(struct h2d_test *t)
{
	nghttp2_session_del(t->session);
	t->session = NULL;
	t->stream = 0;
}

const struct kit_client kit_h2 = {
	.speak = h2_open,
	.open = open_session,
	.begin = kit_h2_begin,
	.piece = kit_h2_piece,
	.end = kit_h2_end,
	.take = kit_h2_take,
	.close = close_session,
};
