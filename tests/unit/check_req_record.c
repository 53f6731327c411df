/* check_req_record: what a request tells of itself at its end: moments, bytes, route. */
#include "base/clock.h"
#include "req_unit.h"

static struct req_record told;

static void on_finished(struct http_env *e, struct h2d_req *r)
{
	ck_assert_ptr_eq(e, &env);
	told = r->record;
}

static void at(uint64_t us)
{
	clock_set(us, (struct timespec){ 0 });
}

/* The request begins a second time, at 1000 microseconds. */
UNIT_SETUP(setup)
{
	req_fini(&req);
	env.finished = on_finished;
	at(1000);
	req_init(&req, &env, &conn, &ops);
	req.method_text = SLICE("GET");
	req.authority = SLICE("other.example");
	req.target = SLICE("/a");
}

static struct slice route_name(void)
{
	return req_record_route_name(&routes.table, told.route);
}

TEST(moments_by_the_loops_clock)
{
	req.target = SLICE("/later");
	req_start(&req);
	at(3000);
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	at(7000);
	req_fini(&req);
	ck_assert_uint_eq(told.begun_us, 1000);
	ck_assert_uint_eq(told.first_byte_us, 3000);
	ck_assert_uint_eq(told.ended_us, 7000);
	ck_assert_uint_eq(told.source, REQ_SOURCE_NONE);
	ck_assert(slice_eq(route_name(), SLICE("files")));
}

TEST(moments_by_the_clock)
{
	req_fini(&req);
	env.conf.timed = true;
	req_init(&req, &env, &conn, &ops);
	req_fini(&req);
	ck_assert_uint_gt(told.begun_us, 1000);
	ck_assert_uint_ge(told.ended_us, told.begun_us);
}

TEST(given_up)
{
	req_fini(&req);
	ck_assert_uint_eq(told.first_byte_us, 0);
	ck_assert(slice_eq(route_name(), SLICE("none")));
}

TEST(body_and_route)
{
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload");
	req.has_body = true;
	req_start(&req);
	req_body(&req, "abc", 3);
	req_body(&req, "de", 2);
	req_body_end(&req);
	req_fini(&req);
	ck_assert_uint_eq(told.bytes_in, 5);
	ck_assert(slice_eq(route_name(), SLICE("/p/upload")));
}

/* Nobody takes it; it came all the same. */
TEST(refused_body)
{
	req.target = SLICE("/../x");
	req.has_body = true;
	req_start(&req);
	req_body(&req, "abc", 3);
	req_fini(&req);
	ck_assert_uint_eq(told.bytes_in, 3);
	ck_assert(slice_eq(route_name(), SLICE("none")));
}

TEST(health)
{
	site_v[1].health = SLICE("/up");
	env.conf.health = &upload;
	req.target = SLICE("/up");
	req_start(&req);
	req_fini(&req);
	ck_assert(slice_eq(route_name(), SLICE("health")));
}

UNIT_FIXTURE(NULL, req_teardown)
