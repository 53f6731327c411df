/*
 * proto_unit: a protocol with handlers behind it, and without a socket or a clock, for check_h1,
 * check_h2, check_h2_window and the fuzz drivers. It asserts by H2D_ASSERT(), as
 * fuzz drivers have no libcheck.
 */
#pragma once

#pragma GCC diagnostic ignored "-Wunused-parameter"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/counters.h"
#include "base/pool.h"
#include "proto/proto.h"
#include "proto/window.h"
#include "tools/route_build.h"

static struct pool blocks;
static struct http_env env;
static struct ahead ahead;
static struct proto_conf conf;
static struct http_conn http_conn;
static struct proto_host host;
static struct proto *server;
static struct outq out;
static struct route_build routes;
static unsigned wakes;

static inline bool proto_over(const struct proto *p)
{
	return p->ops->waits(p) == PROTO_OVER;
}

static inline void proto_unit_wake(struct proto_host *h)
{
	wakes++;
}

/* Routes, and an environment and limits that a test may change. */
static inline void proto_unit_init(const struct route_row *rows, unsigned n,
	const struct h2d_handler *const *handlers, const struct h2d_handler *fallback)
{
	int built = route_build(&routes, rows, n, stderr);

	H2D_ASSERT(built == 0);
	for (unsigned i = 0; i < n; i++)
		routes.routes[i].handler = handlers[i];
	pool_init(&blocks, OUTQ_BLOCK, 8);
	outq_init(&out, &blocks);
	env = (struct http_env){ .sites = &sites_plain,
		.conf.routes = &routes.table,
		.conf.fallback = fallback,
		.date = SLICE("date"),
		.conf.server = SLICE("h2d"),
		.conf.header_fields = 128,
		.conf.header_size = 4096 };
	ahead_init(&ahead, 1 << 20);
	conf = (struct proto_conf){
		.max_concurrent_streams = 20, .glitches = 5000, .ahead = &ahead, .env = &env
	};
	http_conn = (struct http_conn){ 0 };
	host = (struct proto_host){ .wake = proto_unit_wake, .conn = &http_conn };
}

static inline void proto_unit_open(
	struct proto *(*speak)(const struct proto_conf *, struct proto_host *))
{
	server = speak(&conf, &host);
	H2D_ASSERT(server != NULL);
}

/* Live counters return to zero. */
static inline void proto_unit_fini(void)
{
	if (server != NULL)
		server->ops->close(&server);
	outq_clear(&out);
	pool_fini(&blocks);
	route_build_free(&routes);
	pools_fini();
	h2_fini();
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (counter_info[i].kind == COUNTER_GAUGE && counters_get(counters, i) != 0)
			assert_fail(counter_info[i].name, __FILE__, __LINE__, __func__);
}

/* Takes the output that p makes into q, limit bytes at a time. Whether there was any. */
static inline bool proto_unit_pull(struct proto *p, struct outq *q, size_t limit,
	void (*take)(void *ctx, const void *data, size_t n), void *ctx)
{
	struct iovec iov[16];
	bool some = false;
	int more, k;

	do {
		more = p->ops->output(p, q, limit);
		H2D_ASSERT(more >= 0);
		while ((k = outq_iov(q, iov, 16, SIZE_MAX)) > 0) {
			size_t sum = 0;

			for (int i = 0; i < k; sum += iov[i++].iov_len)
				take(ctx, iov[i].iov_base, iov[i].iov_len);
			outq_consume(q, sum);
			some = true;
		}
	} while (more > 0);
	return some;
}

/* --- handlers --------------------------------------------------------------------------------- */

static struct h2d_req *held;      /* replies later */
static struct h2d_req *uploading; /* the last upload */
static int gone, fills, fail_at;
static size_t upload_holds; /* bytes it has not given back */
static bool upload_consumes = true, upload_pauses;

static inline void count_gone(struct h2d_req *req, void *state)
{
	if (held == req)
		held = NULL;
	gone++;
}

static inline void hello_start(struct h2d_req *req, void *state)
{
	h2d_reply_bytes(req, 200, "text/plain", "hello", 5);
}
static const struct h2d_handler hello = {
	.name = "hello", .start = hello_start, .gone = count_gone
};

/* Twice 17 bytes; in front of the second ones it waits. */
static inline ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	fills++;
	if (fills == fail_at)
		return H2D_FAIL;
	if (fills == 2) {
		held = req;
		return H2D_LATER;
	}
	if (fills > 3)
		return 0;
	memcpy(buf, "0123456789abcdefg", 17);
	return 17;
}
static inline void stream_start(struct h2d_req *req, void *state)
{
	h2d_reply_stream(req, 200, "text/plain", fill);
}
static const struct h2d_handler stream = {
	.name = "stream", .start = stream_start, .gone = count_gone
};

/* Answers with the number of bytes that it got. */
static inline void upload_start(struct h2d_req *req, void *state)
{
	uploading = req;
	if (upload_pauses)
		h2d_body_pause(req);
}
static inline void upload_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	*(size_t *)state += len;
	if (upload_consumes)
		h2d_consume(req, len);
	else
		upload_holds += len;
}
static inline void upload_end(struct h2d_req *req, void *state)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", *(size_t *)state);
	h2d_reply_bytes(req, 201, NULL, text, strlen(text));
}
static const struct h2d_handler upload = { .name = "upload",
	.state_size = sizeof(size_t),
	.start = upload_start,
	.body = upload_body,
	.end = upload_end,
	.gone = count_gone };

static inline void later_start(struct h2d_req *req, void *state)
{
	held = req;
}
static const struct h2d_handler later = {
	.name = "later", .start = later_start, .gone = count_gone
};

/* Answers with what the request asks for. */
static inline void echo_start(struct h2d_req *req, void *state)
{
	size_t n, k, q;
	const char *authority = h2d_req_authority(req, &n), *path = h2d_req_path(req, &k);
	const char *query = h2d_req_query(req, &q);
	char text[200];

	snprintf(text, sizeof(text), "%.*s %.*s %.*s", (int)n, authority, (int)k, path, (int)q,
		query);
	h2d_reply_bytes(req, 200, NULL, text, strlen(text));
}
static const struct h2d_handler echo = { .name = "echo", .start = echo_start };

/* Answers by a source with bytes that a sum of the body's leads to. */
static inline void sum_start(struct h2d_req *req, void *state)
{
}
static inline void sum_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*(uint32_t *)state = *(uint32_t *)state * 31 + (uint8_t)data[i];
	h2d_consume(req, len);
}
static inline ssize_t sum_fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	uint32_t *sum = state;

	buf[0] = (char)*sum;
	*sum >>= 3;
	return *sum != 0;
}
static inline void sum_end(struct h2d_req *req, void *state)
{
	h2d_reply_stream(req, 200, "text/plain", sum_fill);
}
static const struct h2d_handler summing = { .name = "summing",
	.state_size = sizeof(uint32_t),
	.start = sum_start,
	.body = sum_body,
	.end = sum_end };
