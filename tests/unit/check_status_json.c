/* check_status_json: the JSON of the scoreboard, with its sums, and that of one gone mad. */
#include "board/admin.h"

#include "base/clock.h"
#include "base/log.h"
#include "board/board_health.h"
#include "board_unit.h"
#include "conf/conf.h"
#include "server/dispatch.h"

static char *json(void)
{
	struct strbuf t = { 0 };

	status_json(board, &t);
	strbuf_add(&t, slice_of("", 1));
	ck_assert(!t.failed);
	ck_assert_uint_eq(strlen(t.p), t.n - 1);
	return t.p;
}

static void assert_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text);
}

TEST(sums)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	char *text;

	a->counters.requests = 5;
	a->counters.connections = 3;
	a->counters.bytes_out = -7;
	b->counters.requests = 11;
	b->counters.connections = 2;
	text = json();
	assert_has(text, "\"totals\":{\"connections\":5");
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	free(text);

	board_release(board, &a);
	text = json();
	assert_has(text, "\"totals\":{\"connections\":2");
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	assert_has(strstr(text, "totals"), "\"bytes_out\":0,");
	free(text);
}

static struct board_slot *first, *second;

/* The page of the first slot is read: the second process is retired now. */
static void on_read(int sig)
{
	mprotect(first, sizeof(*first), PROT_READ | PROT_WRITE);
	board_release(board, &second);
}

/* A reader that is between two slots at that moment. */
static void retire_in_between(void)
{
	struct sigaction act = { .sa_handler = on_read };

	first = board_take(board, 0, 1);
	second = board_take(board, 1, 1);
	first->counters.requests = 5;
	second->counters.requests = 11;
	ck_assert_int_eq(sigaction(SIGSEGV, &act, NULL), 0);
	ck_assert_int_eq(mprotect(first, sizeof(*first), PROT_NONE), 0);
}

TEST(retired_meanwhile)
{
	char *text;

	retire_in_between();
	text = json();
	assert_has(strstr(text, "totals"), "\"requests\":16,");
	free(text);
	ck_assert_ptr_null(second);
}

TEST(json_shape)
{
	struct board_slot *a;
	char *text;

	clock_set(1, (struct timespec){ .tv_sec = 1042 });
	board->head.started = 1000;
	strcpy(board->head.instance_name, "web-1");
	board->head.generation = 3;
	board->head.image = 9;
	board->head.image_size = 77;
	board->head.image_at = 1012;
	board->head.balance = BALANCE_CPU;
	board->head.health = BOARD_HEALTH_DRAINED;
	board->head.building = 1;
	board->head.keeper_pid = 77;
	board->head.dispatch = DISPATCH_ACCEPTOR;
	board->head.acceptor_pid = 78;
	board->head.cache.v[CACHE_FACT_entries] = 12;
	board->head.cache.v[CACHE_FACT_adopted] = UINT64_MAX;
	text = json();
	assert_has(text,
		"{\"version\":\"" PACKAGE_VERSION "\",\"instance_name\":\"web-1\",\"generation\":3,"
		"\"uptime\":42,\"image\":9,\"balance\":\"cpu\",\"building\":1,\"unhealthy\":"
		"[\"drained\"],\"keeper\":77,"
		"\"dispatch\":\"acceptor\",\"acceptor\":78,\"cache\":{\"entries\":12,");
	assert_has(text, "\"adopted\":18446744073709551615},\"time\":1042000,"
			 "\"certificate_expires\":0,\"image_size\":77,"
			 "\"image_age\":30,\"history\":[],\"lines\":[],\"workers\":[],"
			 "\"upstreams\":[],\"totals\":{");
	free(text);

	a = board_take(board, 4, 3);
	a->pid = 123;
	a->image = 8;
	a->state = BOARD_UP;
	text = json();
	assert_has(text, "\"workers\":[{\"slot\":4,\"pid\":123,\"generation\":3,\"state\":\"up\","
			 "\"image\":8,\"clients\":0,\"requests_per_second\":0,"
			 "\"bytes_out_per_second\":0,\"first_byte_p50_us\":null,"
			 "\"first_byte_p99_us\":null,\"connections\":0,");
	for (int i = 0; i < COUNTER_COUNT; i++) {
		char name[64];
		const char *once;

		snprintf(name, sizeof(name), "\"%s\":", counter_info[i].name);
		once = strstr(text, name);
		ck_assert_msg(once != NULL && strstr(once + 1, name) != NULL, "%s twice", name);
	}
	ck_assert_str_eq(text + strlen(text) - 3, "}}\n");
	free(text);
}

/* Per worker and summed, with those of processes that are gone. */
TEST(histogram)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	const struct histogram_info *h = &histogram_info[HISTOGRAM_handshake_us];
	char *text;

	counters_to(&b->counters);
	OBSERVE(handshake_us, h->bounds[0]);
	board_release(board, &b);
	counters_to(&a->counters);
	OBSERVE(handshake_us, h->bounds[0] + 1);
	OBSERVE(handshake_us, h->bounds[h->nbounds - 1] + 1);
	text = json();
	assert_has(text, "\"handshake_us\":{\"count\":2,\"sum\":2500502,\"buckets\":{\"500\":0,"
			 "\"1000\":1,\"2500\":0,");
	assert_has(text, "\"2500000\":0,\"more\":1}}}],\"upstreams\":[],\"totals\":");
	assert_has(strstr(text, "totals"), "\"handshake_us\":{\"count\":3,\"sum\":2501002,"
					   "\"buckets\":{\"500\":1,\"1000\":1,");
	free(text);
}

/* What workers did in the last second, and the seconds before, the oldest first. */
TEST(rates)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	char *text;

	a->recent = (struct board_recent){ .requests = 7, .bytes_out = 1000 };
	b->recent = (struct board_recent){ .requests = 5, .bytes_out = 1 };
	for (unsigned i = 0; i < BOARD_HISTORY + 2; i++)
		board->head.history[i % BOARD_HISTORY] = i;
	board->head.seconds = BOARD_HISTORY + 2;
	text = json();
	assert_has(text, "\"requests_per_second\":7,\"bytes_out_per_second\":1000,");
	assert_has(strstr(text, "totals"),
		"\"requests_per_second\":12,\"bytes_out_per_second\":1001,"
		"\"first_byte_p50_us\":");
	assert_has(text, "\"history\":[2,3,4,");
	assert_has(text, ",60,61],");
	free(text);
	board->head.seconds = 2;
	text = json();
	assert_has(text, "\"history\":[60,61],");
	free(text);
}

/* Of both workers together; the values lie evenly in their bucket. */
TEST(quantiles)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	char *text;

	a->recent.first_byte[0] = 90;
	b->recent.first_byte[1] = 10;
	text = json();
	assert_has(text, "\"first_byte_p50_us\":500,\"first_byte_p99_us\":990,");
	assert_has(text, "\"first_byte_p50_us\":3000,");
	assert_has(
		strstr(text, "totals"), "\"first_byte_p50_us\":556,\"first_byte_p99_us\":4600}}");
	free(text);
}

/* Ten seconds are remembered, and no more. */
TEST(recent)
{
	struct board_slot *a = board_take(board, 0, 1);
	struct recent r = { 0 };

	for (unsigned i = 1; i < 14; i++) {
		clock_set(i * 1000000, (struct timespec){ 0 });
		a->times.v[i % 3][1 + i % 4].first_byte.buckets[2]++;
		recent_second(&r, a);
		ck_assert_uint_eq(a->recent.first_byte[2], i < 10 ? i : 10);
	}
	ck_assert_uint_eq(a->recent.first_byte[0], 0);
}

/* The last ones, the newest first; what peers had a say in is escaped. */
TEST(lines)
{
	struct board_line line = { .level = LEVEL_ERROR, .ms = 5, .pid = 3, .who = "worker 1" };
	char *text;

	for (int i = 0; i < BOARD_LINES + 3; i++) {
		snprintf(line.text, sizeof(line.text), "line %d", i);
		board_lines_add(&board->head.lines, &line);
	}
	strcpy(line.text, "\"\x1b\xff");
	board_lines_add(&board->head.lines, &line);
	text = json();
	assert_has(text,
		"\"lines\":[{\"time\":5,\"level\":\"error\",\"pid\":3,\"who\":\"worker 1\","
		"\"text\":\"\\\"\\u001B\xef\xbf\xbd\"},{");
	assert_has(text, "line 18");
	assert_has(text, "line 4");
	ck_assert_ptr_null(strstr(text, "line 3\""));
	free(text);
}

TEST(json_of_a_mad_board)
{
	char *text;

	for (unsigned i = 0; i < BOARD_SLOTS; i++) {
		struct board_slot *s = board_take(board, i, 1);

		memset(s, 0xff, sizeof(*s));
		for (int c = 0; c < COUNTERS_CELLS; c++)
			((int64_t *)&s->counters)[c] = INT64_MIN;
	}
	text = json();
	assert_has(text, "\"state\":\"unknown\"");
	ck_assert_str_eq(text + strlen(text) - 3, "}}\n");
	free(text);
}
