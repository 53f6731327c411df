/* check_pace: how much content goes out in which time, of a client and of a connection, and who
 * waits. */
#include "request/pace.h"

#include "base/clock.h"
#include "loop_unit.h"
#include "req_unit.h"

enum { MIB = 1 << 20, LARGE = 64 << 20 };

static struct pacer pacer;
static struct tally *tally;
static struct accounts *all;
static struct account_keys keys;
static struct pace_conn had;
static struct pace_limit limit;
static uint64_t now_ms;
static int resumed;

static void on_resumed(struct h2d_req *r)
{
	ck_assert_ptr_eq(r, &req);
	resumed++;
}
static const struct stream_ops paced_ops = {
	.reply = on_reply, .resume = on_resumed, .consume = on_consume, .interim = on_interim
};

static void after(uint64_t ms)
{
	now_ms += ms;
	clock_set(now_ms * 1000, (struct timespec){ 0 });
	wheel_advance(&loop.wheel, now_ms);
}

UNIT_SETUP(setup)
{
	struct addr client;

	now_ms = 5000;
	clock_set(now_ms * 1000, (struct timespec){ 0 });
	wheel_init(&loop.wheel, now_ms);
	pacer_init(&pacer, &loop);
	tally = tally_new();
	ck_assert(account_keys_make(&keys));
	all = accounts_new(10, &keys, 64, NULL);
	client = conn.peer;
	conn.account = account_open(all, &client);
	had = (struct pace_conn){ 0 };
	conn.pace = &had;
	env.pacer = &pacer;
	env.tally = tally;
	env.accounts = all;
	limit = (struct pace_limit){ .rule = rate_rule("", "bytes") };
	site_v[0].guarded = false;
	site_v[0].all.pace = &limit;
	req.stream = &paced_ops;
	resumed = 0;
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	pacer_fini(&pacer);
	account_close(&conn.account);
	accounts_free(&all);
	tally_free(&tally);
}

/* A response with so much content. */
static void reply(uint64_t n)
{
	if (req.state == REQ_REPLY)
		req_fini(&req);
	if (req.state == REQ_GONE) {
		req_init(&req, &env, &conn, &paced_ops);
		req.method_text = SLICE("GET");
		req.authority = SLICE("example.com");
		req.target = SLICE("/later");
	}
	req.target = SLICE("/later");
	req_start(&req);
	body_memory(&req.reply.body, "", n, NULL);
	reply_send(&req, 200);
	ck_assert(req.reply.ready);
}

/* Sends what may go now, in pieces of at most most bytes; how much. */
static uint64_t send_some(size_t most)
{
	uint64_t sum = 0;
	size_t n;

	while (req.reply.body.left > 0 && (n = pace_room(&req, most)) > 0) {
		ck_assert_uint_le(n, most);
		if (n > req.reply.body.left)
			n = req.reply.body.left;
		pace_sent(&req, n);
		req.reply.body.left -= n;
		sum += n;
	}
	return sum;
}

/* For so long, as a protocol does it. */
static uint64_t send_for(uint64_t ms, size_t most)
{
	uint64_t sum = send_some(most);

	for (uint64_t i = 0; i < ms / 10; i++) {
		int before = resumed;

		after(10);
		if (resumed > before)
			sum += send_some(most);
	}
	return sum;
}

static const uint64_t rates[] = { 2000, 100 << 10, MIB, 10 * MIB };

/* Within what the bucket holds, at the beginning, in whatever pieces. */
static void check_rate(uint64_t rate)
{
	uint64_t grant = rate / 20 > 1024 ? rate / 20 : 1024;

	for (size_t most = 16384; most >= 100; most /= 40) {
		uint64_t n;

		reply(LARGE);
		after(10000);
		n = send_for(2000, most);
		ck_assert_msg(n >= 2 * rate * 9 / 10 - grant, "%ju of %ju", (uintmax_t)n,
			(uintmax_t)(2 * rate));
		ck_assert_msg(n <= 2 * rate + 5 * grant, "%ju of %ju", (uintmax_t)n,
			(uintmax_t)(2 * rate));
	}
}

TEST_ROWS(of_a_client, rates)
{
	limit.of_client = rates[_i];
	check_rate(rates[_i]);
}

TEST_ROWS(of_a_connection, rates)
{
	limit.of_connection = rates[_i];
	check_rate(rates[_i]);
}

TEST(the_lower_of_both)
{
	limit.of_client = MIB;
	limit.of_connection = 100 << 10;
	check_rate(100 << 10);
	limit.of_client = 100 << 10;
	limit.of_connection = MIB;
	check_rate(100 << 10);
}

/* Another process sends to the same client: what is left is for this one. */
TEST(over_processes)
{
	struct rate rate = { .rule = limit.rule, .depth_ns = 200000000 };
	uint64_t n = 0;

	limit.of_client = MIB;
	reply(LARGE);
	for (int i = 0; i < 100; i++) {
		/* Half of what there is, each 20 ms. */
		tally_take(tally, conn.account->mark, &rate, 10000000, clock_us());
		n += send_for(20, 16384);
	}
	ck_assert_uint_ge(n, MIB * 8 / 10);
	ck_assert_uint_le(n, MIB * 13 / 10);
}

TEST(counted_once)
{
	int64_t before = counters_get(counters, COUNTER_limit_bytes);

	limit.of_client = 100 << 10;
	reply(LARGE);
	send_for(1000, 16384);
	ck_assert_int_eq(counters_get(counters, COUNTER_limit_bytes), before + 1);
	/* One that waits goes. */
	req_fini(&req);
	after(1000);
	ck_assert(!timer_armed(&pacer.timer));
}

TEST(short_ones_are_not_held)
{
	int64_t before = counters_get(counters, COUNTER_limit_bytes);

	limit.of_client = MIB;
	for (int i = 0; i < 100; i++) {
		reply(1000);
		ck_assert_uint_eq(send_some(16384), 1000);
	}
	ck_assert_int_eq(counters_get(counters, COUNTER_limit_bytes), before);
}

TEST(dry_run)
{
	int64_t before = counters_get(counters, COUNTER_limit_bytes);

	sites.dry_run = true;
	limit.of_client = 100 << 10;
	reply(LARGE);
	ck_assert_uint_eq(send_some(16384), LARGE);
	ck_assert_int_eq(counters_get(counters, COUNTER_limit_bytes), before + 1);
}

TEST(whom_it_does_not_hold_for)
{
	limit.of_client = limit.of_connection = 100 << 10;
	conn.account->exempt = true;
	reply(LARGE);
	ck_assert_uint_eq(send_some(16384), LARGE);
	conn.account->exempt = false;
	limit.of_client = 0;
	/* The connection of a trusted proxy is many clients'. */
	conn.trusted = true;
	reply(LARGE);
	ck_assert_uint_eq(send_some(16384), LARGE);
}
