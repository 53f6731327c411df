/*
 * fuzz_h1: a client's bytes against the h1 protocol with two routes, whole and in pieces: what is
 * answered must not depend on how they come (but for 100-continue, which is about just that).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/ahead.h"
#include "proto/h1.h"
#include "request/route_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void get_start(struct h2d_req *req, void *state)
{
	size_t n, k;
	const char *authority = h2d_req_authority(req, &n), *path = h2d_req_path(req, &k);

	(void)state;
	h2d_reply_bytes(req, 200, "text/plain", n > k ? authority : path, n > k ? n : k);
}
static const struct h2d_handler get = { .name = "get", .start = get_start };

static void post_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*(uint32_t *)state = *(uint32_t *)state * 31 + (uint8_t)data[i];
	h2d_consume(req, len);
}
static ssize_t post_fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	uint32_t *sum = state;

	(void)req, (void)cap;
	buf[0] = (char)*sum;
	*sum >>= 3;
	return *sum != 0;
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
	.state_size = sizeof(uint32_t),
	.start = post_start,
	.body = post_body,
	.end = post_end };

static struct route_build routes;
static struct pool blocks;

static void wake(struct proto_host *host)
{
	(void)host;
}

static void drain_output(struct proto *p, struct outq *q, FILE *to)
{
	struct iovec iov[8];
	int more, n;

	do {
		more = p->ops->output(p, q, 1024);
		if (more < 0)
			abort();
		while ((n = outq_iov(q, iov, 8, SIZE_MAX)) > 0) {
			size_t sum = 0;

			for (int i = 0; i < n; sum += iov[i++].iov_len)
				fwrite(iov[i].iov_base, 1, iov[i].iov_len, to);
			outq_consume(q, sum);
		}
	} while (more > 0);
}

/* FNV-1a, but for a field that a response cannot have if a fault behind its request is not seen
 * yet. */
static uint64_t hash_of(const char *p, size_t n)
{
	static const char close[] = "connection: close\r\n";
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++) {
		if (n - i >= sizeof(close) - 1 && memcmp(p + i, close, sizeof(close) - 1) == 0)
			i += sizeof(close) - 2;
		else
			hash = (hash ^ (uint8_t)p[i]) * 0x100000001b3;
	}
	return hash;
}

static uint64_t answers(const uint8_t *data, size_t size, size_t step)
{
	static const struct http_conn conn = { 0 };
	struct http_env env = { .sites = &sites_plain,
		.fallback = &get,
		.date = SLICE("d"),
		.server = SLICE("s"),
		.header_fields = 32,
		.header_size = 1024,
		.routes = &routes.table };
	struct ahead ahead;
	struct proto_conf conf = { .max_concurrent_streams = 16, .ahead = &ahead, .env = &env };
	struct proto_host host = { .wake = wake, .conn = &conn };
	struct proto *p = h1_ops.open(&conf, &host);
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	uint64_t hash;
	bool too_late = size % 2 == 0;
	unsigned idle = 0;
	struct outq q;

	if (p == NULL || out == NULL)
		abort();
	ahead_init(&ahead, 1 << 20);
	outq_init(&q, &blocks);
	while (size > 0) {
		size_t n = size < step ? size : step, taken = n;
		uint8_t *piece = malloc(n);

		memcpy(piece, data, n);
		if (p->ops->input(p, piece, &taken, 1000) != NULL)
			abort();
		free(piece);
		drain_output(p, &q, out);
		p->ops->waits(p);
		if (p->ops->finished(p))
			break;
		idle = taken == 0 ? idle + 1 : 0;
		if (idle == 2) /* everything was answered at once */
			abort();
		data += taken;
		size -= taken;
	}
	if (too_late && p->ops->timed_out(p))
		drain_output(p, &q, out);
	p->ops->drain(p, true);
	drain_output(p, &q, out);
	p->ops->close(&p);
	outq_clear(&q);
	fclose(out);
	hash = hash_of(text, length);
	free(text);
	return hash;
}

static bool about_pieces(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 6 <= size; i++)
		if (strncasecmp((const char *)data + i, "expect", 6) == 0)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct route_row rows[] = {
		{ "rows", 1, "POST", "/p/{x}", "post", "BODY_STREAM" },
	};
	uint64_t whole, bytes, pieces;

	if (routes.table.routes == NULL) {
		if (route_build(&routes, rows, 1, stderr) < 0)
			abort();
		routes.routes[0].handler = &post;
		pool_init(&blocks, "outq", OUTQ_BLOCK, 8);
		log_max = LEVEL_ALERT;
	}
	whole = answers(data, size, SIZE_MAX);
	bytes = answers(data, size, 1);
	pieces = answers(data, size, 7);
	if (!about_pieces(data, size) && (whole != bytes || whole != pieces))
		abort();
	return 0;
}
