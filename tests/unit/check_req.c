/*
 * check_req: the request core over a stream that only takes notes: states, replies, errors, memory.
 */

#include "req_unit.h"
#include "states_unit.h"

static int finished;

static void on_finished(struct http_env *e, struct h2d_req *r)
{
	ck_assert_ptr_eq(e, &env);
	ck_assert_int_eq(r->state, REQ_GONE);
	finished++;
}

static void echo_start(struct h2d_req *r, void *state)
{
	size_t len;
	const char *path = h2d_req_path(r, &len);

	if (len == 6 && memcmp(path, "/later", 6) == 0)
		return;
	h2d_reply_bytes(r, 200, "text/plain", path, len);
}
static const struct h2d_handler echo = { .name = "echo", .start = echo_start };

UNIT_SETUP(setup)
{
	env.sites = &sites_plain;
	env.conf.fallback = &echo;
	env.conf.header_size = 1000;
	env.finished = on_finished;
	finished = 0;
	req.target = SLICE("/a%20b?q=1");
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	ck_assert_int_eq(finished, 1);
}

TEST(plain_reply)
{
	req_start(&req);
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.state, REQ_REPLY);
	ck_assert_int_eq(req.reply.status, 200);
	ck_assert(req.reply.content);
	ck_assert(slice_eq(reply_field("content-type"), SLICE("text/plain")));
	ck_assert(slice_eq(reply_field("content-length"), SLICE("4")));
	ck_assert(slice_eq(reply_field("server"), SLICE("h2d")));
	ck_assert(slice_eq(reply_field("date"), env.date));
	ck_assert(slice_eq(slice_of(req.reply.body.p, 4), SLICE("/a b")));
	ck_assert(slice_eq(slice_str(h2d_req_query(&req, NULL)), SLICE("q=1")));
	req_sent_all(&req);
	ck_assert_int_eq(req.state, REQ_DONE);
}

TEST(head_keeps_the_length)
{
	req.method_text = SLICE("HEAD");
	req_start(&req);
	ck_assert(!req.reply.content);
	ck_assert(slice_eq(reply_field("content-length"), SLICE("4")));
}

TEST_EACH(no_content, 2)
{
	static const int statuses[] = { 204, 304 };

	req.target = SLICE("/later");
	req_start(&req);
	ck_assert_int_eq(req.state, REQ_WAIT);
	ck_assert_int_eq(replies, 0);
	h2d_reply_bytes(&req, statuses[_i], NULL, "x", 1);
	ck_assert_int_eq(replies, 1);
	ck_assert(!req.reply.content);
	ck_assert_uint_eq(reply_field("content-length").n, 0);
}

TEST_EACH(errors, 5)
{
	static const struct {
		const char *method, *target;
		int status;
	} cases[] = {
		{ "BREW", "/", 501 },
		{ "get", "/", 501 },
		{ "GET", "a", 400 },
		{ "GET", "/%0", 400 },
		{ "GET", "*", 400 },
	};

	req.method_text = slice_str(cases[_i].method);
	req.target = slice_str(cases[_i].target);
	req_start(&req);
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.reply.status, cases[_i].status);
	ck_assert_uint_gt(req.reply.body.left, 20);
	reply_error(&req, 500); /* answered already: nothing happens */
	ck_assert_int_eq(replies, 1);
}

TEST(too_many_fields)
{
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(req_field_add(&req, SLICE("name"), SLICE("value")), 0);
	ck_assert(req.head_too_large);
	ck_assert_uint_eq(req.nfields, 1000 / (4 + 5 + 32));
	req_answers(431);
}

TEST(reply_fields)
{
	req.target = SLICE("/later");
	req_start(&req);
	ck_assert_int_eq(h2d_reply_header(&req, "X-Upper", "v"), -1);
	ck_assert_int_eq(h2d_reply_header(&req, "a b", "v"), -1);
	ck_assert_int_eq(h2d_reply_header(&req, "a", "v\r\nset-cookie: x"), -1);
	for (int i = 0; i < 10 * REPLY_FIELDS_FIRST; i++)
		ck_assert_int_eq(h2d_reply_header(&req, i % 2 ? "set-cookie" : "a", "v"), 0);
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	ck_assert_uint_eq(req.reply.nfields, 10 * REPLY_FIELDS_FIRST + 3);
	ck_assert_int_eq(req.reply.status, 200);
	ck_assert(!req.reply.content);
}

TEST(out_of_memory_is_503)
{
	static char big[5 << 20];

	req.target = SLICE("/later");
	req_start(&req);
	h2d_reply_bytes(&req, 200, "text/plain", big, sizeof(big));
	ck_assert_int_eq(req.reply.status, 503);
	ck_assert(!req.reply.content);
}

TEST(bodies_nobody_takes)
{
	req.has_body = true;
	req_start(&req);
	req_body(&req, "abc", 3);
	req_body(&req, "de", 2);
	req_body_end(&req);
	ck_assert_uint_eq(consumed, 5);
	ck_assert_int_eq(replies, 1);
}

TEST_SIGNAL(second_reply_is_a_bug, 1, SIGABRT)
{
	handler_rule_strict = true;
	req_start(&req);
	h2d_reply_error(&req, 500);
}

static unsigned go(unsigned from, unsigned to)
{
	req.state = (enum req_state)from;
	req_go(&req, (enum req_state)to);
	return req.state;
}

TEST(steps)
{
	states_unit_walk(&req_states,
		"HEAD>WAIT HEAD>GONE WAIT>REPLY WAIT>GONE REPLY>WAIT REPLY>DONE REPLY>GONE "
		"DONE>GONE",
		go);
}
