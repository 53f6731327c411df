/*
 * kit: a worker's loop, protocols and handlers without its sockets, for h2d/test.h. Called by tests
 * of handlers only. Its clock is the test's: programs are linked with --wrap=clock_update.
 */
#include "kit/kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/handler_worker.h"
#include "api/work_line.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "conf/conf_handlers.h"
#include "event/offload.h"
#include "rules/site.h"

enum { THREADS = 4, BEGIN_MS = 1000000, OUTPUT = 1 << 18, STREAMS = 20, HEADERS = 128 };

static uint64_t now_ms = BEGIN_MS;
static bool is_open;

void __wrap_clock_update(void);

void __wrap_clock_update(void)
{
	clock_set(now_ms * 1000, (struct timespec){ .tv_sec = (time_t)(now_ms / 1000) });
}

/* --- bytes both ways -------------------------------------------------------------------------- */

/* True if the server took any. */
static bool offer(struct h2d_test *t)
{
	size_t n = t->unsent.n - t->sent;

	if (n == 0)
		return false;
	t->proto->ops->input(t->proto, t->unsent.p + t->sent, &n, clock_ms());
	t->sent += n;
	if (t->sent == t->unsent.n)
		t->unsent.n = t->sent = 0;
	return n > 0;
}

static bool pull(struct h2d_test *t)
{
	struct iovec iov[16];
	bool some = false;
	int more, k;

	do {
		more = t->proto->ops->output(t->proto, &t->out, OUTPUT);
		H2D_ASSERT(more >= 0);
		while ((k = outq_iov(&t->out, iov, 16, SIZE_MAX)) > 0) {
			size_t sum = 0;

			for (int i = 0; i < k; sum += iov[i++].iov_len)
				t->client->take(t, iov[i].iov_base, iov[i].iov_len);
			outq_consume(&t->out, sum);
			some = true;
		}
	} while (more > 0);
	return some;
}

static void turn(struct h2d_test *t, int wait_ms)
{
	int rc = loop_turn(&t->loop, wait_ms);

	H2D_ASSERT(rc == 0);
	for (bool moved = t->proto != NULL; moved;) {
		moved = offer(t);
		moved |= pull(t);
	}
}

/* Settles messages, and tasks of the next turn, too: a body that continues. */
static void kit_settle(struct h2d_test *t)
{
	turn(t, 0);
	handler_topics_read(&t->env);
	turn(t, 0);
}

static void kit_wake(struct proto_host *host)
{
	(void)host; /* checked in each turn */
}

/* --- its life --------------------------------------------------------------------------------- */

static void not_found(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_error(req, 404);
}

static const struct h2d_handler none = { .name = "none", .start = not_found };

static void make_routes(struct h2d_test *t, const struct h2d_test_route *routes, unsigned n)
{
	struct route_row *rows = calloc(n, sizeof(*rows));
	int rc;

	H2D_ASSERT(rows != NULL && n > 0);
	for (unsigned i = 0; i < n; i++)
		rows[i] = (struct route_row){ routes[i].file, routes[i].line, routes[i].method,
			routes[i].pattern, routes[i].name, routes[i].body };
	rc = route_build(&t->routes, rows, n, stderr);
	free(rows);
	H2D_ASSERT(rc == 0);
	for (unsigned i = 0; i < n; i++)
		t->routes.routes[i].handler = routes[i].handler;
}

static void make_env(struct h2d_test *t)
{
	t->api = (struct api){ .work_line = work_line_new(&t->loop, THREADS),
		.bus = bus_new(),
		.conf = kit_keys(),
		.key_value = conf_handlers_value };
	t->env = (struct http_env){ .conf.routes = &t->routes.table,
		.conf.fallback = &none,
		.loop = &t->loop,
		.api = &t->api,
		.date = SLICE("Thu, 01 Jan 1970 00:16:40 GMT"),
		.conf.server = SLICE("h2d"),
		.conf.header_fields = HEADERS,
		.conf.header_size = 1 << 15 };
	H2D_ASSERT(t->api.work_line != NULL && t->api.bus != NULL);
	kit_files_open(t);
	addr_parse_host(AF_INET, SLICE("192.0.2.1"), &t->conn.peer);
	ahead_init(&t->ahead, 1 << 20);
	t->conf = (struct proto_conf){ .max_concurrent_streams = STREAMS,
		.glitches = 5000,
		.ahead = &t->ahead,
		.env = &t->env };
	t->host = (struct proto_host){ .wake = kit_wake, .conn = &t->conn };
}

static void come(struct h2d_test *t)
{
	t->proto = t->client->speak(&t->conf, &t->host);
	H2D_ASSERT(t->proto != NULL);
	t->client->open(t);
	kit_settle(t);
}

static void kit_leave(struct h2d_test *t)
{
	t->proto->ops->close(&t->proto);
	t->client->close(t);
	outq_clear(&t->out);
	t->unsent.n = t->sent = 0;
}

struct h2d_test *h2d_test_open(
	enum h2d_test_http http, const struct h2d_test_route *routes, unsigned n)
{
	struct h2d_test *t = calloc(1, sizeof(*t));
	int rc;

	H2D_ASSERT(t != NULL && !is_open);
	is_open = handler_rule_strict = true;
	clock_update();
	rc = loop_init(&t->loop);
	H2D_ASSERT(rc == 0);
	t->client = http == H2D_TEST_HTTP1 ? &kit_h1 : &kit_h2;
	pool_init(&t->blocks, OUTQ_BLOCK, 8);
	outq_init(&t->out, &t->blocks);
	make_routes(t, routes, n);
	make_env(t);
	rc = handlers_start(&t->env);
	H2D_ASSERT(rc == 0);
	come(t);
	return t;
}

void h2d_test_close(struct h2d_test **at)
{
	struct h2d_test *t = *at;
	struct strbuf *texts[] = { &t->unsent, &t->fields, &t->content, &t->raw, &t->body };

	kit_leave(t);
	h2d_test_wait(t);
	work_line_free(&t->api.work_line);
	handlers_stop(&t->env);
	turn(t, 0);
	kit_files_close(t);
	bus_free(&t->api.bus);
	pool_fini(&t->blocks);
	route_build_free(&t->routes);
	pools_fini();
	h2_fini();
	loop_fini(&t->loop);
	H2D_ASSERT(counters->requests_live == 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		strbuf_fini(texts[i]);
	kit_keys_free();
	free(t);
	*at = NULL;
	is_open = false;
}

/* --- requests --------------------------------------------------------------------------------- */

static void kit_begin(struct h2d_test *t, const char *method, const char *path,
	const char *const *fields, bool body, int64_t length)
{
	static const char *const no_fields[] = { NULL };

	H2D_ASSERT(!t->asked || t->complete);
	t->asked = true;
	t->status = 0;
	t->complete = false;
	t->fields.n = t->content.n = t->raw.n = 0;
	t->head = strcmp(method, "HEAD") == 0;
	t->client->begin(t, method, path, fields != NULL ? fields : no_fields, body, length);
	kit_settle(t);
}

void h2d_test_request(
	struct h2d_test *t, const char *method, const char *path, const char *const *fields)
{
	kit_begin(t, method, path, fields, false, 0);
}

void h2d_test_begin_request(struct h2d_test *t, const char *method, const char *path,
	const char *const *fields, int64_t length)
{
	kit_begin(t, method, path, fields, true, length);
}

void h2d_test_send_body(struct h2d_test *t, const void *data, size_t len)
{
	if (len > 0)
		t->client->piece(t, data, len);
	kit_settle(t);
}

void h2d_test_end_body(struct h2d_test *t)
{
	t->client->end(t);
	kit_settle(t);
}

void h2d_test_disconnect(struct h2d_test *t)
{
	kit_leave(t);
	t->asked = false;
	come(t);
}

void h2d_test_advance_ms(struct h2d_test *t, uint64_t ms)
{
	for (; ms > 0; ms--) {
		now_ms++;
		turn(t, 0);
	}
	kit_settle(t);
}

void h2d_test_wait(struct h2d_test *t)
{
	while (work_line_pending(t->api.work_line) > 0 || offload_pending(t->files.offload) > 0)
		turn(t, -1);
	kit_settle(t);
}

void h2d_test_publish(struct h2d_test *t, const char *topic, const void *data, size_t len)
{
	int rc = bus_put(t->api.bus, slice_str(topic), slice_of(data, len));

	H2D_ASSERT(rc == 0);
	kit_settle(t);
}

/* --- the answer ------------------------------------------------------------------------------- */

int h2d_test_status(const struct h2d_test *t)
{
	return t->status;
}

const char *h2d_test_header(const struct h2d_test *t, const char *name)
{
	return kit_find(t, name);
}

const char *h2d_test_content(const struct h2d_test *t, size_t *len)
{
	struct strbuf *content = (struct strbuf *)(uintptr_t)&t->content;

	if (len != NULL)
		*len = content->n;
	strbuf_add(content, SLICE("\0"));
	H2D_ASSERT(!content->failed);
	content->n--;
	return content->p;
}

bool h2d_test_complete(const struct h2d_test *t)
{
	return t->complete;
}
