/*
 * check_req_body: the states of a request's body, what protocols are told in each, and who gets the
 * pieces: its handler, which may pause it, a hook, which may be refused or answered, or nobody.
 */
#include "request/req_body.h"

#include "base/log.h"
#include "req_unit.h"
#include "states_unit.h"

TEST(steps)
{
	states_unit_walk(&req_body_states,
		"NONE>LINE NONE>FLOWS NONE>HOOKED LINE>FLOWS LINE>HOOKED LINE>NONE FLOWS>PAUSED "
		"FLOWS>HOOKED FLOWS>OVER PAUSED>FLOWS PAUSED>HOOKED PAUSED>OVER HOOKED>DRAWN "
		"HOOKED>OVER DRAWN>OVER",
		NULL);
}

TEST(questions)
{
	static const char *const told[REQ_BODY_STATES] = { "none", "waits", "flows", "waits",
		"waits", "flows", "none" };

	for (unsigned i = 0; i < REQ_BODY_STATES; i++) {
		struct h2d_req r = { .body_state = (enum req_body_state)i };

		ck_assert_int_eq(req_body_flows(&r), strcmp(told[i], "flows") == 0);
		ck_assert_int_eq(req_body_waits(&r), strcmp(told[i], "waits") == 0);
	}
}

/* As the loop does it once h2d_body_resume() was called. */
static void resume(void)
{
	req.body_task.fn(&req.body_task);
}

static void begin_upload(void)
{
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload");
	req.has_body = true;
	req_start(&req);
	ck_assert_int_eq(starts, 1);
}

static bool uploaded_is(const char *text)
{
	return slice_eq(slice_of(uploaded, uploaded_n), slice_str(text));
}

/* --- in line, and hooks ----------------------------------------------------------------------- */

/* Without a handler's turn, what waits goes back. */
TEST(in_line_for_nobody)
{
	req.location = &site_v[0].all;
	req_body_line(&req);
	req_body(&req, "abc", 3);
	req_body_end(&req);
	ck_assert_uint_eq(consumed, 0);
	req_body_started(&req);
	ck_assert_int_eq(req.body_state, REQ_BODY_NONE);
	ck_assert_uint_eq(consumed, 3);
	ck_assert_int_eq(wanted, 0);
}

static int pieces, gone;
static size_t left;

static void on_body(struct h2d_req *r)
{
	pieces++;
}
static void on_gone(struct h2d_req *r)
{
	gone++;
	left = r->body_queue.n;
}
static const struct req_hook hook = { .body = on_body, .gone = on_gone };

static void begin_hooked(void)
{
	pieces = gone = 0;
	begin_upload();
	req_hook(&req, &hook, NULL);
	ck_assert_int_eq(req.body_state, REQ_BODY_HOOKED);
	req_body(&req, "abc", 3);
	ck_assert_int_eq(pieces, 1);
}

TEST(drawn)
{
	begin_hooked();
	req_body_draw(&req);
	ck_assert_int_eq(req.body_state, REQ_BODY_DRAWN);
	ck_assert_int_eq(wanted, 1);
	req_body(&req, "de", 2);
	req_body_end(&req);
	ck_assert_int_eq(pieces, 3);
	ck_assert(req.body_queue.ended);
	ck_assert_uint_eq(consumed, 0);
	req_unhook(&req);
	ck_assert_int_eq(req.body_state, REQ_BODY_OVER);
	ck_assert_uint_eq(consumed, 5);
	ck_assert_int_eq(gone, 0);
	ck_assert_uint_eq(uploaded_n, 0);
}

/* Its body came while the request was in line: the hook is told at once. */
TEST(hooked_in_line)
{
	pieces = 0;
	req.location = &site_v[0].all;
	req_body_line(&req);
	req_body(&req, "abc", 3);
	req_hook(&req, &hook, NULL);
	ck_assert_int_eq(pieces, 0);
	req_body_started(&req);
	ck_assert_int_eq(pieces, 1);
	ck_assert_uint_eq(consumed, 0);
}

/* The handler had paused, and meant to go on, before it gave the body to the hook: that is over. */
TEST(hooked_while_it_was_to_go_on)
{
	pieces = 0;
	begin_upload();
	h2d_body_pause(&req);
	req_body(&req, "abc", 3);
	req_hook(&req, &hook, NULL);
	resume();
	h2d_body_resume(&req);
	req_body(&req, "de", 2);
	ck_assert_int_eq(req.body_state, REQ_BODY_HOOKED);
	ck_assert_uint_eq(uploaded_n, 0);
	ck_assert_uint_eq(req.body_queue.n, 5);
	ck_assert_int_eq(pieces, 1);
}

/* The hook finds what was left; then its credit goes back. */
TEST_EACH(hooked_and_refused, 2)
{
	begin_hooked();
	if (_i == 0)
		req_refuse(&req, 408);
	else
		req_fini(&req);
	ck_assert_int_eq(gone, 1);
	ck_assert_uint_eq(left, 3);
	ck_assert_uint_eq(consumed, 3);
	ck_assert_int_eq(req.body_state, REQ_BODY_OVER);
}

/* An answer that the hook did not give: it draws nothing any more. */
TEST(hooked_and_answered)
{
	begin_hooked();
	reply_error(&req, 401);
	ck_assert_uint_eq(consumed, 3);
	req_body(&req, "de", 2);
	req_body_draw(&req);
	ck_assert_int_eq(req.body_state, REQ_BODY_OVER);
	ck_assert_int_eq(pieces, 1);
	ck_assert_int_eq(wanted, 0);
	ck_assert_uint_eq(consumed, 5);
}

/* client-max-body-size, of what waits as of what flows. */
TEST_EACH(too_large, 2)
{
	site_v[0].all.body_size = locations[0].body_size = 4;
	if (_i == 0)
		begin_upload();
	else
		begin_hooked();
	req_body(&req, "abcde", 5);
	ck_assert_int_eq(req.reply.status, 413);
	ck_assert_int_eq(req.body_state, REQ_BODY_OVER);
	ck_assert_uint_eq(consumed, _i == 0 ? 5 : 8);
	ck_assert_uint_eq(uploaded_n, 0);
}

/* --- duplex ----------------------------------------------------------------------------------- */

static bool said_all;

static ssize_t fill(struct h2d_req *r, void *state, char *buf, size_t cap)
{
	return said_all ? 0 : H2D_LATER;
}
static void duplex_start(struct h2d_req *r, void *state)
{
	upload_start(r, state);
	h2d_reply_stream(r, 200, NULL, fill);
}
static void duplex_end(struct h2d_req *r, void *state)
{
	said_all = true;
}

static void begin_duplex(void)
{
	static const struct h2d_handler duplex = {
		.name = "upload",
		.duplex = true,
		.start = duplex_start,
		.body = upload_body,
		.end = duplex_end,
	};

	said_all = false;
	routes.routes[0].handler = &duplex;
	begin_upload();
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(wanted, 1);
}

static ssize_t ready(void)
{
	return req.reply.body.ops->ready(&req.reply.body, 100);
}

/* The body goes on beside the reply, and has its end. */
TEST(duplex_goes_on)
{
	begin_duplex();
	req_body(&req, "abc", 3);
	ck_assert_int_eq(ready(), BODY_LATER);
	h2d_body_pause(&req);
	req_body(&req, "de", 2);
	req_body_end(&req);
	ck_assert(uploaded_is("abc"));
	ck_assert(req_body_duplex(&req));
	resume();
	ck_assert(uploaded_is("abcde"));
	ck_assert_int_eq(ready(), 0);
	ck_assert_int_eq(req.body_state, REQ_BODY_OVER);
}

/* Behind the end of the reply the body is nobody's. */
TEST(duplex_ends_first)
{
	begin_duplex();
	h2d_body_pause(&req);
	req_body(&req, "abc", 3);
	said_all = true;
	ck_assert_int_eq(ready(), 0);
	ck_assert_uint_eq(consumed, 3);
	req_body(&req, "de", 2);
	ck_assert_uint_eq(consumed, 5);
	ck_assert_uint_eq(uploaded_n, 0);
}

/* There is no other answer any more: the one that there is has no end. */
TEST_EACH(duplex_is_cut_off, 2)
{
	site_v[0].all.body_size = locations[0].body_size = 4;
	begin_duplex();
	if (_i == 1)
		h2d_body_pause(&req);
	req_body(&req, "abcde", 5);
	req_refuse(&req, 408);
	ck_assert_int_eq(cuts, 1);
	ck_assert_int_eq(replies, 1);
	ck_assert_uint_eq(consumed, 5);
	ck_assert_uint_eq(uploaded_n, 0);
	ck_assert_ptr_eq(req.record.error, ERR_BODY_TOO_LARGE);
}

static bool malloc_fails; /* once */
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	bool fails = malloc_fails;

	malloc_fails = false;
	return fails ? NULL : __real_malloc(n);
}

/* A WebSocket is one: what comes behind lost bytes would be taken for another frame. */
TEST(hooked_and_cut_off_without_memory)
{
	begin_duplex();
	pieces = gone = 0;
	req_hook(&req, &hook, NULL);
	malloc_fails = true;
	req_body(&req, "abc", 3);
	req_body(&req, "de", 2);
	ck_assert_int_eq(cuts, 1);
	ck_assert_int_eq(pieces, 0);
	ck_assert_int_eq(replies, 1);
	ck_assert_uint_eq(consumed, 5);
	ck_assert_ptr_eq(req.record.error, ERR_NO_MEMORY);
	req_fini(&req);
	ck_assert_int_eq(gone, 1);
}

UNIT_STATEMENT(begin, log_max = LEVEL_ALERT)
UNIT_FIXTURE(NULL, req_teardown)
