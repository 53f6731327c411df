/*
 * fuzz_h2: what follows a client's preface, against the h2 protocol with two routes. "--MARK--" in
 * the input splits it into separate reads. Output is made after each read and must never fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proto/ahead.h"
#include "proto/h2.h"
#include "request/route_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char mark[] = "--MARK--";
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static void get_start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_bytes(req, 200, "text/plain", "0123456789", 10);
}
static const struct h2d_handler get = { .name = "get", .start = get_start };

static void post_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	*(size_t *)state += len + (size_t)(len > 0 && data[0] == 'x');
	h2d_consume(req, len);
}
static ssize_t post_fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	size_t *left = state, n = *left < cap ? *left : cap;

	(void)req;
	memset(buf, 'z', n);
	*left -= n;
	return (ssize_t)n;
}
static void post_start(struct h2d_req *req, void *state)
{
	(void)req, (void)state;
}
static void post_end(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_stream(req, 200, "text/plain", post_fill);
}
static const struct h2d_handler post = { .name = "post",
	.state_size = sizeof(size_t),
	.start = post_start,
	.body = post_body,
	.end = post_end };

static void wake(struct proto_host *host)
{
	(void)host;
}

static const struct err *put_input(
	struct proto *p, struct outq *q, const uint8_t *data, size_t n, uint64_t now)
{
	const struct err *err = NULL;

	for (size_t k; err == NULL && n > 0; data += k, n -= k) {
		k = n;
		err = p->ops->input(p, data, &k, now);
		if (err == NULL && k < n && p->ops->output(p, q, 1 << 20) < 0)
			abort();
	}
	return err;
}

static void drain_output(struct proto *p, struct outq *q)
{
	while (p->ops->output(p, q, 1024) > 0)
		outq_consume(q, outq_len(q));
	outq_consume(q, outq_len(q));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct route_row rows[] = {
		{ "rows", 1, "POST", "/p/{x}", "post", "BODY_STREAM" },
	};
	static struct route_build routes;
	static struct pool blocks;
	static const struct http_conn conn = { 0 };
	struct http_env env = { .sites = &sites_plain,
		.fallback = &get,
		.date = SLICE("d"),
		.server = SLICE("s"),
		.header_fields = 32,
		.header_size = 2048 };
	struct ahead ahead;
	struct proto_conf conf = { .max_concurrent_streams = 16,
		.receive_window = 1 << 20,
		.ahead = &ahead,
		.env = &env };
	struct proto_host host = { .wake = wake, .conn = &conn };
	struct outq q;
	struct proto *p;
	const struct err *err;
	uint64_t now = 1000;

	if (routes.table.routes == NULL) {
		if (route_build(&routes, rows, 1, stderr) < 0)
			abort();
		routes.routes[0].handler = &post;
		pool_init(&blocks, "outq", OUTQ_BLOCK, 8);
	}
	env.routes = &routes.table;
	ahead_init(&ahead, conf.receive_window);
	p = h2_ops.open(&conf, &host);
	if (p == NULL)
		return 0;
	outq_init(&q, &blocks);
	err = put_input(p, &q, (const uint8_t *)preface, sizeof(preface) - 1, now);
	while (err == NULL && size > 0) {
		const uint8_t *m = memmem(data, size, mark, sizeof(mark) - 1);
		size_t n = m != NULL ? (size_t)(m - data) : size;

		if (n > 0)
			err = put_input(p, &q, data, n, now);
		drain_output(p, &q);
		p->ops->waits(p);
		if (p->ops->finished(p))
			break;
		n += m != NULL ? sizeof(mark) - 1 : 0;
		data += n;
		size -= n;
		now += 100;
	}
	drain_output(p, &q);
	p->ops->drain(p, true);
	drain_output(p, &q);
	p->ops->close(&p);
	outq_clear(&q);
	return 0;
}
