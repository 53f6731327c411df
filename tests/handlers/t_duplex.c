/*
 * t_duplex: replies that are made of the body while it comes. POST /t/duplex/{when} sends back what
 * it gets, from start(), the first piece ("body") or the end() on; the query has limit=N (the reply
 * ends there), fail=N (it is cut off there), sized (its length is said), work (a thread has each
 * piece in between), hold (nothing is sent or taken), bytes (the reply is no stream). GET
 * /t/duplex/counts: how many began, are gone, and were called when they should not; how many
 * pieces went to a thread, and came back.
 */
#include "h2d/handler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES "application/octet-stream"

enum { ROOM = 128 << 10, ENOUGH = ROOM / 2 };

struct duplex {
	uint64_t sent, limit, fail;
	size_t n; /* bytes to send back */
	bool holds;
	bool replied;
	bool busy;  /* a thread has a piece */
	bool ended; /* the body */
	bool over;  /* the reply: nothing may be called any more */
	char bytes[ROOM];
};

static unsigned starts, gones, mistakes, works, dones;

static bool is_asked(struct h2d_req *req, const char *name)
{
	return h2d_req_query_param(req, name, NULL) != NULL;
}

static uint64_t number(struct h2d_req *req, const char *name)
{
	const char *value = h2d_req_query_param(req, name, NULL);

	return value != NULL ? strtoull(value, NULL, 10) : UINT64_MAX;
}

static bool is_time(const struct h2d_req *req, const char *when)
{
	size_t n;
	const char *wanted = h2d_req_param(req, "when", &n);

	return n == strlen(when) && memcmp(wanted, when, n) == 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- the reply -------------------------------------------------------------------------------- */

static void flow(struct h2d_req *req, const struct duplex *d)
{
	if (d->busy || d->n > ENOUGH)
		h2d_body_pause(req);
	else
		h2d_body_resume(req);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct duplex *d = state;
	size_t n = (size_t)least(least(d->n, cap), least(d->limit, d->fail) - d->sent);

	mistakes += d->over;
	if (n == 0 && d->sent == d->fail) {
		d->over = true;
		return H2D_FAIL;
	}
	d->over = d->sent == d->limit || (d->n == 0 && d->ended && !d->busy);
	if (d->over)
		return 0;
	if (d->holds || n == 0)
		return H2D_LATER;
	memcpy(buf, d->bytes, n);
	memmove(d->bytes, d->bytes + n, d->n - n);
	d->n -= n;
	d->sent += n;
	h2d_consume(req, n);
	flow(req, d);
	return (ssize_t)n;
}

static void reply(struct h2d_req *req, struct duplex *d)
{
	int64_t length = h2d_req_length(req);

	d->replied = true;
	if (is_asked(req, "bytes")) {
		d->over = true;
		h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", "bytes", 5);
	} else if (is_asked(req, "sized") && length >= 0) {
		h2d_reply_stream_sized(req, 200, BYTES, (uint64_t)length, fill);
	} else {
		h2d_reply_stream(req, 200, BYTES, fill);
	}
}

static void start(struct h2d_req *req, void *state)
{
	struct duplex *d = state;

	starts++;
	d->limit = number(req, "limit");
	d->fail = number(req, "fail");
	d->holds = is_asked(req, "hold");
	if (is_time(req, "start"))
		reply(req, d);
}

/* --- the body --------------------------------------------------------------------------------- */

static void add(struct h2d_req *req, struct duplex *d, const char *data, size_t len)
{
	memcpy(d->bytes + d->n, data, len);
	d->n += len;
	h2d_resume(req);
}

struct piece {
	size_t len;
	char bytes[];
};

/* Twice is as if it were not. */
static void turn_over(void *job)
{
	struct piece *p = job;

	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < p->len; k++)
			p->bytes[k] ^= '\x55';
}

static void turned(struct h2d_req *req, void *state, void *job)
{
	struct duplex *d = state;
	struct piece *p = job;

	dones++;
	if (req != NULL) {
		d->busy = false;
		add(req, d, p->bytes, p->len);
		flow(req, d);
	}
	free(p);
}

static void work(struct h2d_req *req, struct duplex *d, const char *data, size_t len)
{
	struct piece *p = malloc(sizeof(*p) + len);

	if (p == NULL)
		abort();
	p->len = len;
	memcpy(p->bytes, data, len);
	d->busy = true;
	works++;
	if (h2d_work(req, turn_over, turned, p) < 0)
		abort();
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct duplex *d = state;

	mistakes += d->over || d->ended || d->busy;
	if (d->holds)
		return;
	if (is_asked(req, "work"))
		work(req, d, data, len);
	else
		add(req, d, data, len);
	if (!d->replied && is_time(req, "body"))
		reply(req, d);
	if (!d->over)
		flow(req, d);
}

/* The body's trailers go back, too. */
static void end(struct h2d_req *req, void *state)
{
	struct duplex *d = state;
	const char *name, *value;

	mistakes += d->over || d->ended;
	d->ended = true;
	if (is_time(req, "end"))
		reply(req, d);
	for (unsigned i = 0; (value = h2d_req_trailer_at(req, i, &name, NULL)) != NULL; i++)
		h2d_reply_trailer(req, name, value);
	h2d_resume(req);
}

static void gone(struct h2d_req *req, void *state)
{
	(void)req, (void)state;
	gones++;
}

const struct h2d_handler h2d_handler_t_duplex = {
	.name = "t_duplex",
	.state_size = sizeof(struct duplex),
	.duplex = true,
	.start = start,
	.body = body,
	.end = end,
	.gone = gone,
};

static void counts(struct h2d_req *req, void *state)
{
	char text[80];
	int n = snprintf(
		text, sizeof(text), "%u %u %u %u %u", starts, gones, mistakes, works, dones);

	(void)state;
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text, (size_t)n);
}

const struct h2d_handler h2d_handler_t_duplex_counts = {
	.name = "t_duplex_counts",
	.start = counts,
};
