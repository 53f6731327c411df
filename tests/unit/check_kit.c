/*
 * check_kit: the test kit (h2d/test.h), with a handler that does a little of everything, over both
 * protocols: what a test sees of it is the same.
 */
#include "h2d/test.h"

#include "unit.h"

static struct h2d_test *t;
static int starts, gones, homes;

/* --- handlers --------------------------------------------------------------------------------- */

static void count_gone(struct h2d_req *req, void *state)
{
	gones++;
}

static int home(struct h2d_worker *worker, void **context)
{
	*context = &homes;
	homes++;
	return 0;
}

static void leave_home(void *context)
{
	ck_assert_ptr_eq(context, &homes);
	homes--;
}

struct sum {
	size_t bytes;
};

static void sum_start(struct h2d_req *req, void *state)
{
	starts++;
}

static void sum_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct sum *s = state;

	s->bytes += len;
	h2d_consume(req, len);
}

static void sum_end(struct h2d_req *req, void *state)
{
	const struct sum *s = state;
	char text[24];

	snprintf(text, sizeof(text), "%zu", s->bytes);
	h2d_reply_header(req, "x-length", h2d_req_length(req) < 0 ? "unknown" : "known");
	h2d_reply_bytes(req, 200, "text/plain", text, strlen(text));
}

const struct h2d_handler h2d_handler_sum = { .name = "sum",
	.state_size = sizeof(struct sum),
	.start = sum_start,
	.body = sum_body,
	.end = sum_end,
	.gone = count_gone,
	.worker_init = home,
	.worker_exit = leave_home };

struct tick {
	struct h2d_timer *timer;
	int n;
	bool due;
};

static void on_tick(struct h2d_req *req, void *state)
{
	struct tick *tick = state;

	tick->due = true;
	h2d_resume(req);
	h2d_timer_set(tick->timer, 100);
}

static ssize_t tick_fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct tick *tick = state;

	if (!tick->due)
		return H2D_LATER;
	tick->due = false;
	if (++tick->n > 3)
		return 0;
	buf[0] = 't';
	return 1;
}

static void ticks_start(struct h2d_req *req, void *state)
{
	struct tick *tick = state;

	tick->timer = h2d_timer_new(req, on_tick);
	h2d_timer_set(tick->timer, 100);
	h2d_reply_stream(req, 200, "text/plain", tick_fill);
}

const struct h2d_handler h2d_handler_ticks = {
	.name = "ticks", .state_size = sizeof(struct tick), .start = ticks_start, .gone = count_gone
};

static void run(void *job)
{
	*(int *)job = 42;
}

static void done(struct h2d_req *req, void *state, void *job)
{
	if (req != NULL)
		h2d_reply_bytes(req, 200, NULL, *(int *)job == 42 ? "42" : "?", 2);
	free(job);
}

static void job_start(struct h2d_req *req, void *state)
{
	if (h2d_work(req, run, done, calloc(1, sizeof(int))) < 0)
		h2d_reply_error(req, 503);
}

const struct h2d_handler h2d_handler_job = {
	.name = "job", .start = job_start, .gone = count_gone
};

static void twice_start(struct h2d_req *req, void *state)
{
	h2d_reply_error(req, 404);
	h2d_reply_error(req, 404);
}

const struct h2d_handler h2d_handler_twice = { .name = "twice", .start = twice_start };

static void keyed_start(struct h2d_req *req, void *state)
{
	const struct h2d_worker *w = h2d_req_worker(req);
	char text[64];

	snprintf(text, sizeof(text), "%s %u %s", h2d_conf_string(w, "word"),
		(unsigned)h2d_conf_number(w, "size"), h2d_conf_item(w, "list", 0));
	h2d_reply_bytes(req, 200, "text/plain", text, strlen(text));
}

const struct h2d_handler h2d_handler_keyed = {
	.name = "keyed", .start = keyed_start, .section = "t"
};

static void on_message(struct h2d_req *req, void *state, const char *data, size_t len)
{
	h2d_reply_bytes(req, 200, "text/plain", data, len);
}

/* Waits for a message; DELETE publishes it itself. */
static void topic_start(struct h2d_req *req, void *state)
{
	ck_assert_int_eq(h2d_subscribe(req, "news", on_message), 0);
	if (h2d_req_method(req) == H2D_DELETE)
		ck_assert_int_eq(h2d_publish(h2d_req_worker(req), "news", "own", 3), 0);
}

const struct h2d_handler h2d_handler_topic = { .name = "topic", .start = topic_start };

static void stored(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n)
{
	if (n == 1)
		h2d_reply_header(req, "x-name", files->name);
	h2d_reply_bytes(req, status, NULL, NULL, 0);
}

static void store_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_param(req, "name", &len);

	if (h2d_req_method(req) == H2D_GET)
		h2d_reply_file(req, H2D_UPLOAD_DIR, "/a", 2);
	else
		h2d_store(req, name, len, stored);
}

const struct h2d_handler h2d_handler_store = { .name = "store", .start = store_start };

static const struct h2d_test_route routes[] = {
#define ROUTE H2D_TEST_ROUTE
	/* clang-format off */
	ROUTE(POST, "/sum", sum, BODY_STREAM)
	ROUTE(GET, "/ticks", ticks, BODY_NONE)
	ROUTE(GET, "/job", job, BODY_NONE)
	ROUTE(GET, "/twice", twice, BODY_NONE)
	ROUTE(GET, "/keyed", keyed, BODY_NONE)
	ROUTE(GET, "/topic", topic, BODY_NONE)
	ROUTE(DELETE, "/topic", topic, BODY_NONE)
	ROUTE(PUT, "/store/{name}", store, BODY_STREAM)
	ROUTE(GET, "/store/{name}", store, BODY_NONE)
	/* clang-format on */
};

/* --- tests, each over HTTP/1.1 and HTTP/2 ----------------------------------------------------- */

static void open_server(int http)
{
	t = h2d_test_open((enum h2d_test_http)http, routes, sizeof(routes) / sizeof(routes[0]));
	ck_assert_int_eq(homes, 1);
}

static void close_server(void)
{
	h2d_test_close(&t);
	ck_assert_int_eq(homes, 0);
}

TEST_EACH(answers, 2)
{
	static const char *const fields[] = { "x-test", "yes", NULL };

	open_server(_i);
	for (int i = 0; i < 3; i++) {
		h2d_test_request(t, "GET", "/none", fields);
		ck_assert_int_eq(h2d_test_status(t), 404);
		ck_assert(h2d_test_complete(t));
		ck_assert_str_eq(h2d_test_header(t, "content-type"), "text/html; charset=utf-8");
		ck_assert_ptr_null(h2d_test_header(t, "x-none"));
		ck_assert_ptr_nonnull(strstr(h2d_test_content(t, NULL), "404"));
	}
	h2d_test_request(t, "HEAD", "/none", NULL);
	ck_assert(h2d_test_complete(t) && h2d_test_status(t) == 404);
	ck_assert_str_eq(h2d_test_content(t, NULL), "");
	h2d_test_request(t, "DELETE", "/sum", NULL);
	ck_assert_int_eq(h2d_test_status(t), 405);
	ck_assert_str_eq(h2d_test_header(t, "allow"), "POST, OPTIONS");
	close_server();
}

TEST_EACH(bodies, 2)
{
	char *piece = calloc(1, 100000);
	size_t n;

	open_server(_i);
	for (int known = 0; known < 2; known++) {
		h2d_test_begin_request(t, "POST", "/sum", NULL, known ? 1000010 : -1);
		ck_assert_int_eq(starts, known + 1);
		h2d_test_send_body(t, "0123456789", 10);
		for (int i = 0; i < 10; i++)
			h2d_test_send_body(t, piece, 100000);
		ck_assert(known && _i == H2D_TEST_HTTP1 ? h2d_test_complete(t)
							: !h2d_test_complete(t));
		h2d_test_end_body(t);
		ck_assert_int_eq(h2d_test_status(t), 200);
		ck_assert_str_eq(h2d_test_content(t, &n), "1000010");
		ck_assert_uint_eq(n, 7);
		ck_assert_str_eq(h2d_test_header(t, "x-length"), known ? "known" : "unknown");
	}
	ck_assert_int_eq(gones, 2);
	free(piece);
	close_server();
}

TEST_EACH(time_passes, 2)
{
	open_server(_i);
	h2d_test_request(t, "GET", "/ticks", NULL);
	ck_assert_int_eq(h2d_test_status(t), 200);
	h2d_test_advance_ms(t, 99);
	ck_assert_str_eq(h2d_test_content(t, NULL), "");
	h2d_test_advance_ms(t, 50);
	ck_assert_str_eq(h2d_test_content(t, NULL), "t");
	h2d_test_advance_ms(t, 200);
	ck_assert_str_eq(h2d_test_content(t, NULL), "ttt");
	ck_assert(!h2d_test_complete(t));
	h2d_test_advance_ms(t, 200);
	ck_assert(h2d_test_complete(t));
	ck_assert_int_eq(gones, 1);
	close_server();
}

TEST_EACH(threads_work, 2)
{
	open_server(_i);
	h2d_test_request(t, "GET", "/job", NULL);
	h2d_test_wait(t);
	ck_assert_str_eq(h2d_test_content(t, NULL), "42");
	h2d_test_request(t, "GET", "/job", NULL);
	close_server();
	ck_assert_int_eq(gones, 2);
}

TEST_EACH(clients_leave, 2)
{
	open_server(_i);
	h2d_test_begin_request(t, "POST", "/sum", NULL, 100);
	h2d_test_send_body(t, "1", 1);
	ck_assert_int_eq(gones, 0);
	h2d_test_disconnect(t);
	ck_assert_int_eq(gones, 1);
	h2d_test_request(t, "GET", "/ticks", NULL);
	h2d_test_disconnect(t);
	ck_assert_int_eq(gones, 2);
	h2d_test_request(t, "GET", "/none", NULL);
	ck_assert_int_eq(h2d_test_status(t), 404);
	close_server();
}

TEST_EACH(keys_are_read, 2)
{
	h2d_test_key("t", "word", "b c");
	h2d_test_key("t", "list", "{\"x\", \"y\"}");
	open_server(_i);
	h2d_test_request(t, "GET", "/keyed", NULL);
	ck_assert_str_eq(h2d_test_content(t, NULL), "b c 2048 x");
	close_server();
	open_server(_i);
	h2d_test_request(t, "GET", "/keyed", NULL);
	ck_assert_str_eq(h2d_test_content(t, NULL), "a \"b\"? 2048 a");
	close_server();
}

TEST_EACH(messages_are_heard, 2)
{
	open_server(_i);
	h2d_test_request(t, "GET", "/topic", NULL);
	h2d_test_publish(t, "weather", "rain", 4);
	ck_assert(!h2d_test_complete(t));
	h2d_test_publish(t, "news", "peace", 5);
	ck_assert_str_eq(h2d_test_content(t, NULL), "peace");
	h2d_test_request(t, "DELETE", "/topic", NULL);
	ck_assert_str_eq(h2d_test_content(t, NULL), "own");
	close_server();
}

TEST_EACH(files_are_stored, 2)
{
	size_t len;

	open_server(_i);
	ck_assert_ptr_null(h2d_test_file(t, "a", NULL));
	for (int i = 0; i < 2; i++) {
		h2d_test_begin_request(t, "PUT", "/store/a", NULL, i == 0 ? 4 : -1);
		h2d_test_send_body(t, i == 0 ? "on" : "tw", 2);
		h2d_test_send_body(t, i == 0 ? "e!" : "o!", 2);
		h2d_test_end_body(t);
		h2d_test_wait(t);
		ck_assert_int_eq(h2d_test_status(t), i == 0 ? 201 : 204);
		ck_assert_str_eq(h2d_test_header(t, "x-name"), "a");
		ck_assert_str_eq(h2d_test_file(t, "a", &len), i == 0 ? "one!" : "two!");
		ck_assert_uint_eq(len, 4);
	}
	h2d_test_request(t, "GET", "/store/a", NULL);
	h2d_test_wait(t);
	ck_assert_str_eq(h2d_test_content(t, NULL), "two!");
	h2d_test_begin_request(t, "PUT", "/store/b", NULL, 4);
	h2d_test_send_body(t, "ha", 2);
	h2d_test_disconnect(t);
	close_server();
	open_server(_i);
	ck_assert_ptr_null(h2d_test_file(t, "a", NULL));
	close_server();
}

TEST_SIGNAL(a_key_that_is_none, 2, SIGABRT)
{
	h2d_test_key("t", "size", _i == 0 ? "a lot" : "1");
	h2d_test_key("t", "sizes", "1");
}

TEST_SIGNAL(a_rule_is_broken, 2, SIGABRT)
{
	open_server(_i);
	h2d_test_request(t, "GET", "/twice", NULL);
}
