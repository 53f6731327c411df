/*
 * t_trailers: POST /t/trailers/{pieces} takes a body and answers with its size as so many pieces of
 * content, and behind them with what came behind the body: a field "x-NAME: VALUE" for each of its
 * trailers, and x-count, which tells how many they were.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct taken {
	unsigned long bytes;
	unsigned pieces;
};

static void start(struct h2d_req *req, void *state)
{
	struct taken *t = state;

	t->pieces = (unsigned)atoi(h2d_req_param(req, "pieces", NULL));
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct taken *t = state;

	(void)data;
	t->bytes += len;
	h2d_consume(req, len);
}

static void add_trailers(struct h2d_req *req)
{
	char name[100], count[20];
	const char *old, *value;
	unsigned i;

	for (i = 0; (value = h2d_req_trailer_at(req, i, &old, NULL)) != NULL; i++) {
		snprintf(name, sizeof(name), "x-%s", old);
		h2d_reply_trailer(req, name, value);
	}
	snprintf(count, sizeof(count), "%u", i);
	h2d_reply_trailer(req, "x-count", count);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct taken *t = state;

	if (t->pieces-- > 0)
		return snprintf(buf, cap, "%lu\n", t->bytes);
	add_trailers(req);
	return 0;
}

static void end(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_stream(req, 200, "text/plain; charset=utf-8", fill);
}

const struct h2d_handler h2d_handler_t_trailers = {
	.name = "t_trailers",
	.state_size = sizeof(struct taken),
	.start = start,
	.body = body,
	.end = end,
};
