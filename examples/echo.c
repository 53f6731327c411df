/*
 * echo: POST /echo takes a JSON text of up to 64 KiB and sends it back. What a handler does that
 * needs the whole body before it can answer.
 */
#include "h2d/handler.h"

#include <string.h>

enum { LIMIT = 65536 };

struct echo {
	char *data;
	size_t len, room;
};

static void start(struct h2d_req *req, void *state)
{
	struct echo *e = state;
	size_t n;
	const char *type = h2d_req_header(req, "content-type", &n);
	int64_t length = h2d_req_length(req);

	if (type == NULL || n < 16 || memcmp(type, "application/json", 16) != 0) {
		h2d_reply_error(req, 415);
		return;
	}
	if (length > LIMIT) {
		h2d_reply_error(req, 413);
		return;
	}
	e->room = length >= 0 ? (size_t)length : LIMIT;
	e->data = h2d_req_alloc(req, e->room + 1);
	if (e->data == NULL)
		h2d_reply_error(req, 503);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct echo *e = state;

	if (len > e->room - e->len) {
		h2d_reply_error(req, 413);
		return;
	}
	memcpy(e->data + e->len, data, len);
	e->len += len;
	h2d_consume(req, len);
}

static void end(struct h2d_req *req, void *state)
{
	const struct echo *e = state;

	h2d_reply_bytes(req, 200, "application/json", e->data, e->len);
}

const struct h2d_handler h2d_handler_echo = {
	.name = "echo",
	.state_size = sizeof(struct echo),
	.start = start,
	.body = body,
	.end = end,
};
