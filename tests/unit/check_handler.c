/*
 * check_handler: what a handler can ask of the server beside its reply: facts of the request, a
 * body that waits, timers, threads; and that nothing of it outlives the request.
 */
#include "api/handler_worker.h"
#include "api/work_line.h"
#include "base/clock.h"
#include "base/crash.h"
#include "loop_unit.h"
#include "req_unit.h"

#include <semaphore.h>

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

static int threads_left;

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return threads_left-- > 0 ? __real_pthread_create(t, attr, fn, arg) : EAGAIN;
}

static struct api api;
static sem_t entered, leave;
static int gones, fires;
static bool pause_at_start, pause_in_body;
static void (*at_start)(void);

#define WORDS_OF_THING ", in handler thing, in the request POST /p/1/x/%32/c/d?q"

static void thing_start(struct h2d_req *r, void *state)
{
	*(int *)state = 42;
	if (at_start != NULL)
		at_start();
	if (pause_at_start)
		h2d_body_pause(r);
}
static void thing_body(struct h2d_req *r, void *state, const char *data, size_t n)
{
	upload_body(r, state, data, n);
	if (pause_in_body)
		h2d_body_pause(r);
}
static void thing_gone(struct h2d_req *r, void *state)
{
	ck_assert_int_eq(*(int *)state, 42);
	gones++;
}
static const struct h2d_handler thing = { .name = "thing",
	.state_size = sizeof(int),
	.start = thing_start,
	.body = thing_body,
	.end = upload_end,
	.gone = thing_gone };

static const struct route_row thing_rows[] = {
	{ "rows", 1, "POST", "/p/{a}/x/{b}/*", "thing", "BODY_STREAM" },
};

UNIT_SETUP(setup)
{
	route_build_free(&routes);
	ck_assert_int_eq(route_build(&routes, thing_rows, 1, stderr), 0);
	routes.routes[0].handler = &thing;
	threads_left = 1;
	sem_init(&entered, 0, 0);
	sem_init(&leave, 0, 0);
	gones = fires = 0;
	pause_at_start = pause_in_body = false;
	at_start = NULL;
	env.loop = &loop;
	env.api = &api;
	api.work_line = work_line_new(&loop, 4);
	ck_assert_ptr_nonnull(api.work_line);
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/1/x/%32/c/d?q");
	req.has_body = true;
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	ck_assert_int_eq(gones, 1);
	work_line_free(&api.work_line);
}

static void turn(void)
{
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
}

/* --- facts ------------------------------------------------------------------------------------ */

#define ck_assert_text(got, len, want) \
	do { \
		const char *p_ = (got); \
		ck_assert_msg( \
			slice_eq(slice_of(p_, (len)), SLICE(want)), "\"%.*s\"", (int)(len), p_); \
	} while (0)

TEST(parameters)
{
	const char *name;
	size_t len;

	ck_assert_uint_eq(h2d_req_params(&req), 0);
	req_start(&req);
	ck_assert_uint_eq(h2d_req_params(&req), 3);
	ck_assert_text(h2d_req_param_at(&req, 0, &name, &len), len, "1");
	ck_assert_str_eq(name, "a");
	ck_assert_text(h2d_req_param_at(&req, 1, &name, &len), len, "2");
	ck_assert_str_eq(name, "b");
	ck_assert_text(h2d_req_param_at(&req, 2, &name, &len), len, "c/d");
	ck_assert_str_eq(name, "*");
	ck_assert_ptr_nonnull(h2d_req_param_at(&req, 2, NULL, NULL));
	ck_assert_ptr_null(h2d_req_param_at(&req, 3, &name, &len));
	ck_assert_uint_eq(len, 0);
}

TEST(length)
{
	req_start(&req);
	ck_assert_int_eq(h2d_req_length(&req), -1);
	req.body_length = INT64_MAX;
	ck_assert_int_eq(h2d_req_length(&req), INT64_MAX);
	req.has_body = false;
	ck_assert_int_eq(h2d_req_length(&req), 0);
}

/* Nobody gets less than was asked for: of a length that is not known, say. */
TEST(memory)
{
	req_start(&req);
	ck_assert_ptr_nonnull(h2d_req_alloc(&req, 0));
	ck_assert_ptr_nonnull(h2d_req_alloc(&req, 1 << 20));
	ck_assert_ptr_null(h2d_req_alloc(&req, 1 << 30));
	ck_assert_ptr_null(h2d_req_alloc(&req, (size_t)h2d_req_length(&req)));
	ck_assert_ptr_null(h2d_req_alloc(&req, SIZE_MAX - 7));
}

TEST(who)
{
	size_t len;

	req_start(&req);
	ck_assert_text(h2d_req_peer(&req, &len), len, "192.0.2.1");
	ck_assert_ptr_eq(h2d_req_peer(&req, NULL), h2d_req_peer(&req, &len));
	ck_assert_ptr_null(h2d_req_user(&req, &len));
	ck_assert_uint_eq(len, 0);
	req.user = SLICE("ann");
	ck_assert_text(h2d_req_user(&req, &len), len, "ann");
}

TEST_EACH(fields_by_number, 2)
{
	static const char *const names[] = { "x", "cookie", "x", "y" };
	const char *name;
	size_t n, len;

	req_field_add(&req, SLICE("x"), SLICE("1"));
	req_field_add(&req, SLICE("cookie"), SLICE("a=1"));
	req_field_add(&req, SLICE("x"), SLICE("2"));
	req_field_add(&req, SLICE("cookie"), SLICE("b=2"));
	req_field_add(&req, SLICE("y"), SLICE(""));
	req_start(&req);
	ck_assert_text(h2d_req_header_nth(&req, "x", 0, &len), len, "1");
	ck_assert_text(h2d_req_header_nth(&req, "x", 1, &len), len, "2");
	ck_assert_ptr_null(h2d_req_header_nth(&req, "x", 2, &len));
	ck_assert_uint_eq(len, 0);
	if (_i == 0)
		ck_assert_uint_eq(h2d_req_headers(&req), 4);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_ptr_nonnull(h2d_req_header_at(&req, i, &name, &n, &len));
		ck_assert(slice_eq(slice_of(name, n), slice_str(names[i])));
	}
	ck_assert_text(h2d_req_header_at(&req, 1, NULL, NULL, &len), len, "a=1; b=2");
	ck_assert_ptr_null(h2d_req_header_at(&req, 4, &name, &n, &len));
	ck_assert_ptr_null(h2d_req_header_nth(&req, "cookie", 1, NULL));
	ck_assert_text(h2d_req_cookie(&req, "b", &len), len, "2");
	ck_assert_ptr_null(h2d_req_cookie(&req, "c", &len));
}

TEST(coding)
{
	req_field_add(&req, SLICE("accept-encoding"), SLICE("br;q=0.5, gzip, deflate"));
	req_start(&req);
	ck_assert_str_eq(h2d_req_coding(&req, "br gzip"), "gzip");
	ck_assert_str_eq(h2d_req_coding(&req, " zstd  br "), "br");
	ck_assert_ptr_null(h2d_req_coding(&req, "zstd deflate brr"));
	ck_assert_ptr_null(h2d_req_coding(&req, ""));
}

TEST(query_parameters)
{
	const char *name;
	size_t len;

	req.target = SLICE("/p/1/x/2/c?a=1&b+c=%C3%A9&a=2&d");
	req_start(&req);
	ck_assert_text(h2d_req_query_param(&req, "a", &len), len, "1");
	ck_assert_str_eq(h2d_req_query_param(&req, "b c", NULL), "\303\251");
	ck_assert_text(h2d_req_query_param(&req, "d", &len), len, "");
	ck_assert_ptr_null(h2d_req_query_param(&req, "e", &len));
	ck_assert_uint_eq(len, 0);
	ck_assert_uint_eq(h2d_req_query_params(&req), 4);
	ck_assert_text(h2d_req_query_param_at(&req, 2, &name, &len), len, "2");
	ck_assert_str_eq(name, "a");
	ck_assert_ptr_null(h2d_req_query_param_at(&req, 4, NULL, NULL));
	ck_assert_text(h2d_req_query(&req, &len), len, "a=1&b+c=%C3%A9&a=2&d");
}

/* Handlers copy it, and no call may be given NULL, not even with nothing to copy. */
TEST(no_query)
{
	size_t len = 1;

	req.target = SLICE("/p/1/x/2/c");
	req_start(&req);
	ck_assert_ptr_nonnull(h2d_req_query(&req, &len));
	ck_assert_uint_eq(len, 0);
}

/* A handler that asks again and again takes no more memory for it. */
TEST(what_is_asked_twice_is_made_once)
{
	const char *p;

	req.target = SLICE("/p/1/x/2/c?a=1");
	req_start(&req);
	p = h2d_req_query_param(&req, "a", NULL);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_eq(h2d_req_query_param(&req, "a", NULL), p);
}

TEST(without_memory)
{
	req.target = SLICE("/p/1/x/2/c?a=1");
	req_field_add(&req, SLICE("cookie"), SLICE("a=1"));
	req_field_add(&req, SLICE("cookie"), SLICE("b=1"));
	req_start(&req);
	while (h2d_req_alloc(&req, 8) != NULL)
		;
	ck_assert_ptr_null(h2d_req_query_param(&req, "a", NULL));
	ck_assert_uint_eq(h2d_req_query_params(&req), 0);
	ck_assert_uint_eq(h2d_req_headers(&req), 0);
	ck_assert_ptr_null(h2d_req_header_at(&req, 0, NULL, NULL, NULL));
	ck_assert_ptr_null(h2d_req_cookie(&req, "a", NULL));
}

TEST(how_it_came)
{
	size_t len;

	req_start(&req);
	ck_assert_str_eq(h2d_req_scheme(&req), "http");
	ck_assert_ptr_null(h2d_req_tls_version(&req));
	ck_assert_ptr_null(h2d_req_client_subject(&req, NULL));
	conn.tls = HTTP_TLS_OURS;
	conn.tls_version = "TLSv1.3";
	ck_assert_str_eq(h2d_req_scheme(&req), "https");
	ck_assert_str_eq(h2d_req_tls_version(&req), "TLSv1.3");
	conn.client_subject = "CN=alice";
	ck_assert_text(h2d_req_client_subject(&req, &len), len, "CN=alice");
}

/* --- the body --------------------------------------------------------------------------------- */

TEST(paused_and_resumed)
{
	pause_at_start = true;
	req_start(&req);
	req_body(&req, "ab", 2);
	req_body(&req, "c", 1);
	ck_assert_uint_eq(uploaded_n, 0);
	h2d_body_resume(&req);
	ck_assert_uint_eq(uploaded_n, 0); /* never from inside the call */
	req_body(&req, "d", 1);           /* and never out of order */
	turn();
	ck_assert(slice_eq(slice_of(uploaded, uploaded_n), SLICE("abcd")));
	ck_assert_uint_eq(consumed, 4);
	req_body(&req, "e", 1);
	ck_assert_uint_eq(uploaded_n, 5);
	req_body_end(&req);
	ck_assert_int_eq(req.reply.status, 201);
}

TEST(paused_piece_by_piece)
{
	static const size_t sums[] = { 1, 257, 258 };
	char piece[256] = { 0 }; /* what waits is put together up to this */

	pause_in_body = true;
	req_start(&req);
	req_body(&req, "a", 1);
	req_body(&req, piece, sizeof(piece));
	req_body(&req, "c", 1);
	req_body_end(&req);
	for (size_t n = 0; n < 3; n++) {
		ck_assert_uint_eq(uploaded_n, sums[n]);
		ck_assert_int_eq(replies, 0);
		h2d_body_resume(&req);
		h2d_body_resume(&req);
		turn();
	}
	ck_assert_int_eq(req.reply.status, 201);
}

TEST(paused_while_it_was_to_go_on)
{
	pause_at_start = true;
	req_start(&req);
	req_body(&req, "a", 1);
	h2d_body_resume(&req);
	h2d_body_pause(&req);
	turn();
	ck_assert_uint_eq(uploaded_n, 0);
	h2d_body_resume(&req);
	req_fini(&req); /* takes it off the loop */
	turn();
	ck_assert_uint_eq(uploaded_n, 0);
	ck_assert_uint_eq(consumed, 1);
}

/* What waits for a handler that has answered is nobody's: its credit goes back. */
TEST_EACH(paused_and_answered, 2)
{
	pause_at_start = true;
	req_start(&req);
	req_body(&req, "abc", 3);
	ck_assert_uint_eq(consumed, 0);
	if (_i == 0)
		h2d_reply_error(&req, 409);
	else
		req_refuse(&req, 400);
	req_body(&req, "d", 1);
	turn();
	ck_assert_uint_eq(uploaded_n, 0);
	ck_assert_uint_eq(consumed, 4);
}

TEST(not_paused)
{
	req_start(&req);
	h2d_body_resume(&req);
	req_body(&req, "a", 1);
	ck_assert_uint_eq(uploaded_n, 1);
	turn();
	ck_assert_uint_eq(uploaded_n, 1);
}

/* --- interim responses ------------------------------------------------------------------------ */

static const struct h2d_header hints[17] = {
	{ "link", "</a.css>; rel=preload; as=style" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
	{ "x", "y" },
};

TEST(interim_responses)
{
	req_start(&req);
	ck_assert_int_eq(h2d_reply_interim(&req, 103, hints, 2), 0);
	ck_assert_str_eq(informed, "103 link: </a.css>; rel=preload; as=style x: y");
	ck_assert_int_eq(h2d_reply_interim(&req, 102, NULL, 0), 0);
	ck_assert_str_eq(informed, "102");
	ck_assert_int_eq(h2d_reply_interim(&req, 103, hints, 16), 0);
	ck_assert_int_eq(h2d_reply_interim(&req, 103, hints, 17), -1);
	ck_assert_int_eq(informs, 3);
	ck_assert_int_eq(replies, 0);
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	ck_assert_uint_eq(reply_field("link").n, 0);
}

TEST_EACH(interim_fields_that_are_none, 8)
{
	static const struct h2d_header wrong[] = { { "Link", "x" }, { "a b", "x" }, { "", "x" },
		{ "a", "b\r\nc: d" }, { "a", " b" }, { "content-length", "1" },
		{ "transfer-encoding", "chunked" }, { "connection", "close" } };

	req_start(&req);
	ck_assert_int_eq(h2d_reply_interim(&req, 103, &wrong[_i], 1), -1);
	ck_assert_int_eq(informs, 0);
}

/* Of a client that does not read they wait in memory. */
TEST(interim_responses_without_end)
{
	req_start(&req);
	while (h2d_reply_interim(&req, 102, NULL, 0) == 0)
		ck_assert_int_le(informs, 2000);
	ck_assert_int_eq(informs, 2000);
}

static const int no_interims[] = { 100, 101, 200 };

TEST_SIGNAL(interim_of_a_wrong_status, 3, SIGABRT)
{
	req_start(&req);
	h2d_reply_interim(&req, no_interims[_i], NULL, 0);
}

TEST_SIGNAL(interim_behind_the_reply, 1, SIGABRT)
{
	handler_rule_strict = true;
	req_start(&req);
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	h2d_reply_interim(&req, 103, NULL, 0);
}

/* --- short replies ---------------------------------------------------------------------------- */

static int releases;

static void count_release(void *data)
{
	ck_assert_str_eq(data, "owned");
	releases++;
}

/* The first reply stays as it is, and memory that another one brings is released. */
TEST(late_replies_are_ignored)
{
	static char owned[] = "owned";

	handler_rule_strict = false;
	releases = 0;
	req_start(&req);
	h2d_reply_text(&req, 201, "first");
	h2d_reply_json(&req, 200, "{}");
	h2d_reply_printf(&req, 200, H2D_TEXT, "%d", 2);
	h2d_reply_redirect(&req, 301, "/");
	h2d_reply_error(&req, 404);
	h2d_reply_stream(&req, 200, NULL, NULL);
	h2d_reply_memory(&req, 200, NULL, owned, 5, count_release);
	ck_assert_int_eq(h2d_reply_header(&req, "a", "b"), -1);
	ck_assert_int_eq(h2d_reply_cookie(&req, "a", "b", 0), -1);
	ck_assert_int_eq(h2d_reply_interim(&req, 103, NULL, 0), -1);
	ck_assert_int_eq(h2d_accept_websocket(&req), -1);
	ck_assert_int_eq(req.reply.status, 201);
	ck_assert_uint_eq(req.reply.body.left, 5);
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(informs, 0);
	ck_assert_int_eq(releases, 1);
}

/* Released once: when the request is gone here, as no byte of it was taken. */
TEST(memory_of_a_reply)
{
	static char owned[] = "owned";

	releases = 0;
	req_start(&req);
	h2d_reply_memory(&req, 200, H2D_TEXT, owned, 5, count_release);
	ck_assert_ptr_eq(req.reply.body.p, owned);
	ck_assert_int_eq(releases, 0);
	req_fini(&req);
	ck_assert_int_eq(releases, 1);
}

static const struct {
	const char *name, *value;
	int64_t max_age;
	const char *want;
} cookies[] = {
	{ "a", "1", -1, "a=1; Path=/; HttpOnly; SameSite=Lax" },
	{ "a", "", 0, "a=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax" },
	{ "__Host-a", "x=y", 60, "__Host-a=x=y; Path=/; Max-Age=60; HttpOnly; SameSite=Lax" },
	{ "", "1", 0, NULL },
	{ "a=b", "1", 0, NULL },
	{ "a b", "1", 0, NULL },
	{ "a", "1; Domain=x", 0, NULL },
	{ "a", "1\r\nx: y", 0, NULL },
	{ "a", "\"1\"", 0, NULL },
};

TEST_EACH(cookies_of_a_reply, sizeof(cookies) / sizeof(cookies[0]))
{
	const char *want = cookies[_i].want;

	req_start(&req);
	ck_assert_int_eq(
		h2d_reply_cookie(&req, cookies[_i].name, cookies[_i].value, cookies[_i].max_age),
		want != NULL ? 0 : -1);
	h2d_reply_text(&req, 200, "");
	ck_assert(slice_eq(reply_field("set-cookie"), slice_str(want != NULL ? want : "")));
}

TEST_EACH(short_replies_without_memory, 4)
{
	req_start(&req);
	while (arena_alloc(&req.arena, 1) != NULL)
		;
	releases = 0;
	if (_i == 0)
		h2d_reply_text(&req, 200, "text");
	else if (_i == 1)
		h2d_reply_printf(&req, 200, NULL, "%d", 1);
	else if (_i == 2)
		h2d_reply_redirect(&req, 303, "/");
	else
		h2d_reply_memory(&req, 200, H2D_TEXT, "owned", 5, count_release);
	ck_assert_int_eq(req.reply.status, 503);
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(releases, _i == 3);
}

/* --- trailers --------------------------------------------------------------------------------- */

static ssize_t fill_none(struct h2d_req *r, void *state, char *buf, size_t cap)
{
	return 0;
}

TEST(trailers_of_a_reply)
{
	const struct body *b = &req.reply.body;
	const struct trailers *t;

	req_start(&req);
	ck_assert_int_eq(h2d_reply_trailer(&req, "a", "too soon"), -1);
	h2d_reply_stream(&req, 200, NULL, fill_none);
	ck_assert_ptr_null(b->trailers);
	ck_assert_int_eq(h2d_reply_trailer(&req, "a", "1"), 0);
	ck_assert_int_eq(h2d_reply_trailer(&req, "A", "1"), -1);
	ck_assert_int_eq(h2d_reply_trailer(&req, "a", "1\r\nb: 2"), -1);
	ck_assert_int_eq(h2d_reply_trailer(&req, "content-length", "1"), -1);
	for (int i = 1; i < TRAILERS_MAX; i++)
		ck_assert_int_eq(h2d_reply_trailer(&req, "b", ""), 0);
	ck_assert_int_eq(h2d_reply_trailer(&req, "b", ""), -1);
	t = b->trailers;
	ck_assert_uint_eq(t->n, TRAILERS_MAX);
	ck_assert(slice_eq(t->v[0].name, SLICE("a")) && slice_eq(t->v[0].value, SLICE("1")));
	ck_assert_int_eq(b->ops->ready(&req.reply.body, 100), 0);
	ck_assert_int_eq(h2d_reply_trailer(&req, "a", "too late"), -1);
}

TEST_EACH(no_trailers, 2)
{
	req_start(&req);
	if (_i == 0)
		h2d_reply_bytes(&req, 200, NULL, "x", 1);
	else
		h2d_reply_stream_sized(&req, 200, NULL, 1, fill_none);
	ck_assert_int_eq(h2d_reply_trailer(&req, "a", "1"), -1);
	ck_assert_ptr_null(req.reply.body.trailers);
}

TEST_EACH(trailers_of_a_request, 2)
{
	char name[] = "a", value[] = "1";
	const char *found;
	size_t len;

	req_start(&req);
	ck_assert_ptr_null(h2d_req_trailer(&req, "a", &len));
	ck_assert_ptr_null(req_body_trailer(&req, slice_str(name), slice_str(value)));
	memset(name, 'x', 1); /* its bytes lived for the call */
	memset(value, 'x', 1);
	ck_assert_ptr_null(req_body_trailer(&req, SLICE("b"), SLICE("2")));
	ck_assert_text(h2d_req_trailer(&req, "a", &len), len, "1");
	ck_assert_str_eq(h2d_req_trailer_at(&req, 1, &found, NULL), "2");
	ck_assert_str_eq(found, "b");
	ck_assert_ptr_null(h2d_req_trailer_at(&req, 2, &found, &len));
	ck_assert_ptr_null(h2d_req_header(&req, "a", &len));
	if (_i == 1) { /* answered: nobody takes any more */
		h2d_reply_bytes(&req, 200, NULL, "", 0);
		for (int i = 0; i < 100; i++)
			ck_assert_ptr_null(req_body_trailer(&req, SLICE("c"), SLICE("3")));
		ck_assert_ptr_null(h2d_req_trailer(&req, "c", &len));
	}
}

TEST_EACH(too_many_trailers, 2)
{
	static char large[5000];
	const struct err *err = NULL;
	int n = 0;

	req_start(&req);
	memset(large, 'v', sizeof(large));
	while (err == NULL)
		err = req_body_trailer(&req, SLICE("a"),
			slice_of(large, _i == 0 && n++ < TRAILERS_MAX ? 1 : sizeof(large)));
	ck_assert_ptr_eq(err, ERR_FIELDS_TOO_LARGE);
	ck_assert_int_eq(n, _i == 0 ? TRAILERS_MAX + 1 : 0);
}

/* --- forms ------------------------------------------------------------------------------------ */

static int form_status;

static void form_done(struct h2d_req *r, void *state, int status)
{
	ck_assert_int_eq(form_status, 0);
	ck_assert_int_eq(*(int *)state, 42);
	form_status = status;
	if (status == 200)
		h2d_reply_bytes(r, 200, NULL, "", 0);
	else
		h2d_reply_error(r, status);
}
static void read_form(void)
{
	h2d_form_read(&req, 8000, form_done);
}

static void ask_by_form(const char *type)
{
	at_start = read_form;
	form_status = 0;
	req_field_add(&req, SLICE("content-type"), slice_str(type));
	req_start(&req);
}

static void come(const char *p, size_t n, size_t at_once)
{
	for (size_t i = 0; i < n; i += at_once)
		req_body(&req, p + i, n - i < at_once ? n - i : at_once);
}

TEST_EACH(a_form, 4)
{
	static const size_t steps[] = { 1, 2, 7, 100 };
	const char text[] = "a=1&b+c=%c3%a9&a=2";
	const char *name;
	size_t len;

	ask_by_form("Application/x-www-form-urlencoded; charset=utf-8");
	ck_assert_int_gt(wanted, 0);
	come(text, strlen(text), steps[_i]);
	ck_assert_int_eq(form_status, 0);
	req_body_end(&req);
	ck_assert_int_eq(form_status, 200);
	ck_assert_uint_eq(consumed, strlen(text));
	ck_assert_uint_eq(uploaded_n, 0);
	ck_assert_uint_eq(h2d_form_params(&req), 3);
	ck_assert_text(h2d_form_param(&req, "b c", &len), len, "\303\251");
	ck_assert_text(h2d_form_param(&req, "a", &len), len, "1");
	ck_assert_text(h2d_form_param_at(&req, 2, &name, &len), len, "2");
	ck_assert_str_eq(name, "a");
	ck_assert_ptr_null(h2d_form_param(&req, "d", &len));
}

/* Pieces fill the room up to its last byte, and more is refused, not cut. */
TEST_EACH(a_long_form, 2)
{
	char text[8001];

	memset(text, 'x', sizeof(text));
	memcpy(text, "a=", 2);
	ask_by_form("application/x-www-form-urlencoded");
	come(text, sizeof(text) - !_i, 999);
	if (_i == 0)
		req_body_end(&req);
	ck_assert_int_eq(form_status, _i == 0 ? 200 : 413);
	ck_assert_uint_eq(consumed, sizeof(text) - !_i);
	if (_i == 0)
		ck_assert_uint_eq(strspn(h2d_form_param(&req, "a", NULL), "x"), 7998);
	else
		ck_assert_uint_eq(h2d_form_params(&req), 0);
}

TEST_EACH(no_form, 4)
{
	static const char *const types[] = { "", "text/plain", "multipart/form-data; boundary=x",
		"application/x-www-form-urlencodedx" };

	ask_by_form(types[_i]);
	ck_assert_int_eq(form_status, 415);
	req_body(&req, "a=1", 3);
	req_body_end(&req);
	ck_assert_uint_eq(consumed, 3);
	ck_assert_int_eq(replies, 1);
}

TEST(a_form_of_nothing)
{
	req.has_body = false;
	ask_by_form("");
	req_body_end(&req);
	ck_assert_int_eq(form_status, 200);
	ck_assert_uint_eq(h2d_form_params(&req), 0);
}

/* Its length is said: nobody is asked to send it. */
TEST(a_form_that_says_it_is_long)
{
	req.body_length = 8001;
	ask_by_form("application/x-www-form-urlencoded");
	ck_assert_int_eq(form_status, 413);
	ck_assert_int_eq(wanted, 0);
}

/* A form ends with its request, read half. */
TEST_EACH(who_sends_a_form_leaves, 2)
{
	ask_by_form("application/x-www-form-urlencoded");
	come("a=1", 3, 2);
	if (_i == 0)
		req_fini(&req);
	else
		req_refuse(&req, 400);
	ck_assert_int_eq(form_status, 0);
	ck_assert_int_eq(gones, 1);
	ck_assert_uint_eq(consumed, 3);
}

/* --- timers ----------------------------------------------------------------------------------- */

static void on_timer(struct h2d_req *r, void *state)
{
	ck_assert_ptr_eq(r, &req);
	ck_assert_int_eq(*(int *)state, 42);
	ck_assert_int_eq(gones, 0);
	fires++;
}

/* The wheel's time is the test's. */
static void pass(uint64_t ms)
{
	wheel_advance(&loop.wheel, loop.wheel.now + ms);
}

static struct h2d_timer *timer_of_50(void)
{
	struct h2d_timer *t;

	req_start(&req);
	t = h2d_timer_new(&req, on_timer);
	ck_assert_ptr_nonnull(t);
	wheel_advance(&loop.wheel, clock_ms());
	h2d_timer_set(t, 50);
	return t;
}

TEST(timer_fires_once)
{
	struct h2d_timer *t = timer_of_50();

	pass(49);
	ck_assert_int_eq(fires, 0);
	pass(1000);
	ck_assert_int_eq(fires, 1);
	pass(1000);
	ck_assert_int_eq(fires, 1);
	h2d_timer_set(t, 0);
	pass(1000);
	ck_assert_int_eq(fires, 2);
}

TEST(timer_moved_and_stopped)
{
	struct h2d_timer *t = timer_of_50();

	h2d_timer_set(t, 5000);
	pass(1000);
	ck_assert_int_eq(fires, 0);
	h2d_timer_stop(t);
	h2d_timer_stop(t);
	pass(10000);
	ck_assert_int_eq(fires, 0);
}

TEST(timer_of_a_time_that_never_comes)
{
	h2d_timer_set(timer_of_50(), UINT64_MAX);
	pass(UINT64_C(1000) * 3600 * 24 * 365);
	ck_assert_int_eq(fires, 0);
}

TEST_EACH(timer_ends_with_its_request, 2)
{
	struct h2d_timer *other;

	timer_of_50();
	other = h2d_timer_new(&req, on_timer);
	h2d_timer_set(other, 20);
	if (_i == 0)
		req_fini(&req);
	else
		req_refuse(&req, 400);
	ck_assert_int_eq(gones, 1);
	ck_assert_uint_eq(loop.wheel.armed, 0);
	pass(1000);
	ck_assert_int_eq(fires, 0);
}

/* --- threads ---------------------------------------------------------------------------------- */

struct errand {
	int runs, dones;
	bool hold, with_request;
	pthread_t thread;
};

static void run_errand(void *job)
{
	struct errand *e = job;

	if (e->hold) {
		sem_post(&entered);
		sem_wait(&leave);
	}
	e->thread = pthread_self();
	e->runs++;
}

static void errand_done(struct h2d_req *r, void *state, void *job)
{
	struct errand *e = job;

	e->dones++;
	e->with_request = r != NULL;
	if (r == NULL) {
		ck_assert_ptr_null(state);
		ck_assert_int_eq(gones, 1);
		return;
	}
	ck_assert_int_eq(*(int *)state, 42);
	h2d_reply_bytes(r, 200, NULL, "done", 4);
}

static void turn_until(const int *what)
{
	while (*what == 0)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
}

TEST(work_is_done)
{
	struct errand e = { 0 };

	req_start(&req);
	ck_assert_int_eq(h2d_work(&req, run_errand, errand_done, &e), 0);
	ck_assert_int_eq(e.dones, 0);
	turn_until(&e.dones);
	ck_assert_int_eq(e.runs, 1);
	ck_assert_int_eq(e.dones, 1);
	ck_assert(e.with_request);
	ck_assert(!pthread_equal(e.thread, pthread_self()));
	ck_assert_int_eq(req.reply.status, 200);
	ck_assert(!belonging_any(&req.belongings));
}

/* The first is with the only thread when the request ends, the second in line. */
TEST_EACH(work_outlives_its_request, 2)
{
	struct errand held = { .hold = true }, queued = { 0 };

	req_start(&req);
	ck_assert_int_eq(h2d_work(&req, run_errand, errand_done, &held), 0);
	ck_assert_int_eq(h2d_work(&req, run_errand, errand_done, &queued), 0);
	sem_wait(&entered);
	if (_i == 0)
		req_fini(&req);
	else
		req_refuse(&req, 400);
	ck_assert_int_eq(queued.dones, 1);
	ck_assert(!queued.with_request);
	ck_assert_int_eq(held.dones, 0);
	sem_post(&leave);
	turn_until(&held.dones);
	ck_assert(!held.with_request);
	ck_assert_int_eq(held.runs, 1);
	ck_assert_int_eq(queued.runs, 0);
	ck_assert_int_eq(queued.dones, 1);
	ck_assert_int_eq(counters->offload_jobs, 0);
}

TEST(work_without_threads)
{
	struct errand e = { 0 };

	threads_left = 0;
	req_start(&req);
	ck_assert_int_eq(h2d_work(&req, run_errand, errand_done, &e), -1);
	turn();
	ck_assert_int_eq(e.runs + e.dones, 0);
	ck_assert(!belonging_any(&req.belongings));
}

/* One of several ends first, another later: each knows its own. */
TEST(works_side_by_side)
{
	struct errand held = { .hold = true }, quick = { 0 };

	threads_left = 2;
	req_start(&req);
	ck_assert_int_eq(h2d_work(&req, run_errand, errand_done, &held), 0);
	ck_assert_int_eq(h2d_work(&req, run_errand, errand_done, &quick), 0);
	turn_until(&quick.dones);
	ck_assert(belonging_any(&req.belongings));
	sem_wait(&entered);
	req_fini(&req);
	sem_post(&leave);
	turn_until(&held.dones);
	ck_assert(quick.with_request && !held.with_request);
}

/* --- faults of handlers ----------------------------------------------------------------------- */

TEST_SIGNAL(length_that_wrapped, 6, SIGABRT)
{
	req_start(&req);
	if (_i < 5)
		h2d_reply_bytes(&req, 200, NULL, "12345", (size_t)_i - 5);
	else
		h2d_consume(&req, (size_t)-1);
}

static void *asks(void *arg)
{
	h2d_req_path(arg, NULL);
	return NULL;
}

static void asks_in_job(void *job)
{
	asks(job);
}

static void never(struct h2d_req *r, void *state, void *job)
{
}

/* A thread of the server's, or of the handler's own. */
TEST_SIGNAL(called_in_a_thread, 2, SIGABRT)
{
	pthread_t thread;

	threads_left = 2;
	req_start(&req);
	if (_i == 0)
		h2d_work(&req, asks_in_job, never, &req);
	else
		pthread_create(&thread, NULL, asks, &req);
	sem_wait(&entered); /* for ever */
}

static void told(const char *want)
{
	char words[80] = "words";

	crash_tell(words, 5, sizeof(words));
	ck_assert_str_eq(words, want);
	crash_tell(words, strlen(words), strlen(words) + 1);
	ck_assert_str_eq(words, want);
}

/* One call begins another one's. */
static void tell_calls(void)
{
	struct crash_call call = { .handler = "inner", SLICE("PUT"), SLICE("/i") };

	told("words" WORDS_OF_THING);
	crash_begin(&call);
	told("words, in handler inner, in the request PUT /i");
	crash_end();
	told("words" WORDS_OF_THING);
}

TEST(words_of_calls)
{
	at_start = tell_calls;
	told("words");
	req_start(&req);
	told("words");
}

static void told_timer(struct h2d_req *r, void *state)
{
	told("words" WORDS_OF_THING);
	fires++;
}

TEST(words_of_a_timer)
{
	req_start(&req);
	wheel_advance(&loop.wheel, clock_ms());
	h2d_timer_set(h2d_timer_new(&req, told_timer), 0);
	pass(1000);
	ck_assert_int_eq(fires, 1);
	told("words");
}
