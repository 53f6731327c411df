/* check_metrics: what of the scoreboard is told, by slot and over all, and of one gone mad. */
#include "board/metrics.h"

#include "board_unit.h"
#include "tools/route_build.h"

static struct route_build routes;

UNIT_SETUP(setup)
{
	static const struct route_row rows[] = { { "r", 1, "PUT", "/u/{x}", "h", "BODY_NONE" } };

	ck_assert_int_eq(route_build(&routes, rows, 1, stderr), 0);
}

UNIT_TEARDOWN(teardown)
{
	route_build_free(&routes);
}

static char *text(enum metrics_form form)
{
	const struct metrics_facts facts = { .routes = &routes.table };
	struct strbuf t = { 0 };

	metrics_text(board, &facts, form, &t);
	strbuf_add(&t, slice_of("", 1));
	ck_assert(!t.failed);
	ck_assert_uint_eq(strlen(t.p), t.n - 1);
	return t.p;
}

/* A whole line of it. */
static bool has(const char *t, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = t; (p = strstr(p, line)) != NULL; p++)
		if ((p == t || p[-1] == '\n') && p[n] == '\n')
			return true;
	return false;
}

#define EXPECT(t, line) ck_assert_msg(has(t, line), "no %s in\n%s", line, t)

/* A slot goes on where its last process ended, and has what all its living processes have. */
TEST(by_slot)
{
	struct board_slot *old = board_take(board, 0, 1), *dead = board_take(board, 1, 1);
	struct board_slot *next;
	char *t;

	board_count(&board->head, BOARD_COUNT_keepers_died);
	board->head.use = (struct process_use){ 9000, 33 };
	board->head.cache.use = (struct process_use){ 5000, 20 };
	board->head.keeper_pid = 1;
	old->counters.requests = 5;
	old->counters.connections = 2;
	old->use.memory = 4000;
	old->use.descriptors = 12;
	dead->counters.requests = 11;
	dead->counters.connections = 9;
	dead->slot = 7; /* a lie */
	board_release(board, &dead);
	next = board_take(board, 0, 2);
	next->counters.requests = 3;
	next->counters.connections = 1;
	next->use.memory = 3000;
	next->counters.responses_4xx = 3;
	t = text(METRICS_TEXT);
	EXPECT(t, "h2d_requests_total{worker=\"0\"} 8");
	EXPECT(t, "h2d_requests_total{worker=\"1\"} 11");
	EXPECT(t, "h2d_connections{worker=\"0\"} 3");
	EXPECT(t, "h2d_process_resident_memory_bytes{worker=\"0\"} 7000");
	EXPECT(t, "h2d_process_open_fds{worker=\"0\"} 12");
	EXPECT(t, "h2d_process_resident_memory_bytes{kind=\"master\"} 9000");
	EXPECT(t, "h2d_process_open_fds{kind=\"master\"} 33");
	EXPECT(t, "h2d_process_resident_memory_bytes{kind=\"keeper\"} 5000");
	EXPECT(t, "h2d_process_open_fds{kind=\"keeper\"} 20");
	ck_assert_ptr_null(strstr(t, "h2d_process_open_fds{worker=\"1\"}"));
	EXPECT(t, "h2d_connections{worker=\"1\"} 0");
	EXPECT(t, "h2d_responses_total{worker=\"0\",class=\"4xx\"} 3");
	EXPECT(t, "# HELP h2d_responses_total responses, by status class");
	EXPECT(t, "h2d_workers{state=\"boot\"} 2");
	EXPECT(t, "h2d_process_deaths_total{kind=\"keeper\"} 1");
	EXPECT(t, "h2d_watchdog_kills_total 0");
	ck_assert_ptr_null(strstr(t, "worker=\"7\""));
	ck_assert_ptr_null(strstr(t, "# EOF"));
	free(t);
}

TEST(times)
{
	struct board_slot *a = board_take(board, 0, 1), *b = board_take(board, 1, 1);
	const struct req_record files = { .ended_us = 2000, .route = REQ_ROUTE_FILES };
	const struct req_record put = { .ended_us = 30000000, .route = REQ_ROUTE_ROWS };
	char *t;

	route_times_observe(&a->times, &files, 200);
	route_times_observe(&b->times, &files, 200);
	route_times_observe(&b->times, &put, 201);
	board_release(board, &b);
	t = text(METRICS_OPEN);
	EXPECT(t, "h2d_request_duration_seconds_bucket"
		  "{route=\"files\",method=\"\",class=\"2xx\",le=\"0.001\"} 0");
	EXPECT(t, "h2d_request_duration_seconds_bucket"
		  "{route=\"files\",method=\"\",class=\"2xx\",le=\"0.005\"} 2");
	EXPECT(t, "h2d_request_duration_seconds_sum"
		  "{route=\"files\",method=\"\",class=\"2xx\"} 0.004");
	EXPECT(t, "h2d_request_first_byte_seconds_count"
		  "{route=\"/u/{x}\",method=\"PUT\",class=\"2xx\"} 1");
	ck_assert_ptr_null(strstr(t, "class=\"5xx\",le"));
	EXPECT(t, "# UNIT h2d_request_duration_seconds seconds");
	ck_assert_str_eq(t + strlen(t) - 7, "\n# EOF\n");
	free(t);
}

static unsigned count(const char *t, const char *what)
{
	unsigned n = 0;

	for (; (t = strstr(t, what)) != NULL; t++)
		n++;
	return n;
}

/* Each metric has one head, whatever rows and names there are, and a help. */
TEST(heads)
{
	char *t, *lines, *line, *rest;

	board_take(board, 0, 1);
	t = text(METRICS_OPEN);
	lines = strdup(t);
	ck_assert_ptr_nonnull(lines);
	line = strtok_r(lines, "\n", &rest);
	for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		char head[128], name[96];

		if (sscanf(line, "# TYPE %90s", name) != 1)
			continue;
		snprintf(head, sizeof(head), "# TYPE %s ", name);
		ck_assert_msg(count(t, head) == 1, "%s", line);
		snprintf(head, sizeof(head), "# HELP %s ", name);
		ck_assert_msg(count(t, head) == 1, "%s", line);
	}
	free(lines);
	free(t);
}

/* A machine without a name has the metric, too: what is joined with nothing is nothing. */
TEST(machine)
{
	char *t = text(METRICS_TEXT);

	EXPECT(t, "h2d_machine_info{instance_name=\"\"} 1");
	free(t);
	strcpy(board->head.instance_name, "web-1");
	t = text(METRICS_TEXT);
	EXPECT(t, "h2d_machine_info{instance_name=\"web-1\"} 1");
	free(t);
}

TEST(of_a_mad_board)
{
	char *t;

	for (unsigned i = 0; i < 3; i++)
		memset(board_take(board, i, 1), 0xff, sizeof(struct board_slot));
	t = text(METRICS_TEXT);
	EXPECT(t, "h2d_requests_total{worker=\"2\"} 0");
	EXPECT(t, "h2d_workers{state=\"up\"} 0");
	free(t);
}

static void expect(struct metrics_out *o, const char *text)
{
	ck_assert(!o->t.failed);
	strbuf_add(&o->t, slice_of("", 1));
	ck_assert_str_eq(o->t.p, text);
	strbuf_fini(&o->t);
}

static void counter(struct metrics_out *o)
{
	metrics_family(o, METRICS_COUNTER, "sent_bytes", "bytes \"sent\",\nby \\");
	metrics_sample(o, NULL, 0, 7);
	metrics_end(o);
}

TEST(a_family_of_counters)
{
	struct metrics_out text = { .form = METRICS_TEXT }, open = { .form = METRICS_OPEN };

	counter(&text);
	expect(&text, "# TYPE h2d_sent_bytes_total counter\n"
		      "# HELP h2d_sent_bytes_total bytes \"sent\",\\nby \\\\\n"
		      "h2d_sent_bytes_total 7\n");
	counter(&open);
	expect(&open, "# TYPE h2d_sent_bytes counter\n"
		      "# UNIT h2d_sent_bytes bytes\n"
		      "# HELP h2d_sent_bytes bytes \\\"sent\\\",\\nby \\\\\n"
		      "h2d_sent_bytes_total 7\n"
		      "# EOF\n");
}

static void info(struct metrics_out *o)
{
	const struct metrics_label labels[] = { { "a", SLICE("x\"y\\z\n") }, { "b", { 0 } } };

	metrics_family(o, METRICS_INFO, "build", "b");
	metrics_sample(o, labels, 2, 1);
}

TEST(labels)
{
	struct metrics_out text = { .form = METRICS_TEXT }, open = { .form = METRICS_OPEN };

	info(&text);
	expect(&text, "# TYPE h2d_build_info gauge\n# HELP h2d_build_info b\n"
		      "h2d_build_info{a=\"x\\\"y\\\\z\\n\",b=\"\"} 1\n");
	info(&open);
	expect(&open, "# TYPE h2d_build info\n# HELP h2d_build b\n"
		      "h2d_build_info{a=\"x\\\"y\\\\z\\n\",b=\"\"} 1\n");
}

TEST(histogram)
{
	static const int64_t bounds[] = { 500, 1000000, 2500000 }, buckets[] = { 1, -5, 2, 3 };
	const struct metrics_buckets b = { bounds, buckets, 3, 12000001 };
	const struct metrics_label label = { "r", SLICE("/") };
	struct metrics_out o = { .form = METRICS_TEXT };

	metrics_family(&o, METRICS_HISTOGRAM, "x_seconds", "h");
	metrics_histogram(&o, &label, 1, &b);
	expect(&o, "# TYPE h2d_x_seconds histogram\n# HELP h2d_x_seconds h\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"0.0005\"} 1\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"1.0\"} 1\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"2.5\"} 3\n"
		   "h2d_x_seconds_bucket{r=\"/\",le=\"+Inf\"} 6\n"
		   "h2d_x_seconds_sum{r=\"/\"} 12.000001\n"
		   "h2d_x_seconds_count{r=\"/\"} 6\n");
}

TEST(histogram_without_labels)
{
	static const int64_t bounds[] = { 1000 }, buckets[] = { 0, 0 };
	const struct metrics_buckets b = { bounds, buckets, 1, -3 };
	struct metrics_out o = { .form = METRICS_OPEN };

	metrics_family(&o, METRICS_HISTOGRAM, "x_seconds", "h");
	metrics_histogram(&o, NULL, 0, &b);
	expect(&o, "# TYPE h2d_x_seconds histogram\n# UNIT h2d_x_seconds seconds\n"
		   "# HELP h2d_x_seconds h\n"
		   "h2d_x_seconds_bucket{le=\"0.001\"} 0\n"
		   "h2d_x_seconds_bucket{le=\"+Inf\"} 0\n"
		   "h2d_x_seconds_sum 0.0\n"
		   "h2d_x_seconds_count 0\n");
}
