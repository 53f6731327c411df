/*
 * status_json: other processes write the board meanwhile, and one of them may be corrupt: every
 * field is read once, the sums are of the values read, and no value is trusted.
 */
#include "board/admin.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "board/board.h"
#include "board/board_health.h"
#include "conf/conf.h"

enum { TRIES = 10 };

static const char *const fact_names[CACHE_FACTS] = {
#define FACT(name, help) #name,
#include "base/cache_facts.def"
};

/* A bucket is named by the highest value that it counts. */
static void put_histogram(
	struct strbuf *t, const struct histogram_info *h, const struct counters *c)
{
	json_begin(t, h->name, '{');
	json_signed(t, "count", counters_get(c, h->cell + HISTOGRAM_VALUES));
	json_signed(t, "sum", counters_get(c, h->cell + HISTOGRAM_SUM));
	json_begin(t, "buckets", '{');
	for (int i = 0; i <= h->nbounds; i++) {
		char bound[24] = "more";

		if (i < h->nbounds)
			snprintf(bound, sizeof(bound), "%" PRId64, h->bounds[i]);
		json_signed(t, bound, counters_get(c, h->cell + HISTOGRAM_BUCKETS + i));
	}
	json_end(t, '}');
	json_end(t, '}');
}

static void put_counters(struct strbuf *t, const struct counters *c)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		json_signed(t, counter_info[i].name, counters_get(c, i));
	for (int i = 0; i < HISTOGRAM_COUNT; i++)
		put_histogram(t, &histogram_info[i], c);
}

/* Microseconds; null: no request. */
static void put_quantile(struct strbuf *t, const char *name, const struct board_recent *r, double q)
{
	double us = recent_quantile(r, q);

	if (us < 0)
		json_plain(t, name, "null");
	else
		json_signed(t, name, (int64_t)(us + 0.5));
}

static void put_recent(struct strbuf *t, const struct board_recent *r)
{
	json_unsigned(t, "requests_per_second", r->requests);
	json_unsigned(t, "bytes_out_per_second", r->bytes_out);
	put_quantile(t, "first_byte_p50_us", r, 0.5);
	put_quantile(t, "first_byte_p99_us", r, 0.99);
}

/* Puts the worker, and adds what it counted to sum and recent. */
static void put_worker(struct strbuf *t, const struct board_slot *s, struct counters *sum,
	struct board_recent *recent)
{
	struct board_recent r;
	struct counters c;

	counters_read(&c, &s->counters);
	json_begin(t, NULL, '{');
	json_unsigned(t, "slot", BOARD_LOAD(s->slot));
	json_signed(t, "pid", BOARD_LOAD(s->pid));
	json_unsigned(t, "generation", BOARD_LOAD(s->generation));
	json_text(t, "state", states_name(&board_states, BOARD_LOAD(s->state)));
	json_unsigned(t, "image", BOARD_LOAD(s->image));
	json_unsigned(t, "clients", BOARD_LOAD_LIVE(BOARD_LOAD(s->load)));
	recent_read(&r, s);
	put_recent(t, &r);
	put_counters(t, &c);
	json_end(t, '}');
	counters_add(sum, &c);
	recent_add(recent, &r);
}

/* The newest first. */
static void put_lines(struct strbuf *t, const struct board_lines *lines)
{
	struct board_line line;

	json_begin(t, "lines", '[');
	for (unsigned i = 0; i < BOARD_LINES; i++) {
		if (!board_lines_get(lines, i, &line))
			continue;
		json_begin(t, NULL, '{');
		json_unsigned(t, "time", line.ms);
		json_text(t, "level", log_level_name((enum log_level)line.level));
		json_signed(t, "pid", line.pid);
		json_text(t, "who", line.who);
		json_text(t, "text", line.text);
		json_end(t, '}');
	}
	json_end(t, ']');
}

static void put_head(struct strbuf *t, const struct board_head *head)
{
	struct timespec wall = clock_wall();
	uint64_t now = (uint64_t)wall.tv_sec, started = BOARD_LOAD(head->started);
	uint64_t image_at = BOARD_LOAD(head->image_at);
	uint32_t unhealthy = BOARD_LOAD(head->health), history[BOARD_HISTORY];
	unsigned nhistory = recent_history(head, history);

	json_text(t, "version", PACKAGE_VERSION);
	json_text(t, "instance_name", head->instance_name);
	json_unsigned(t, "generation", BOARD_LOAD(head->generation));
	json_unsigned(t, "uptime", now > started ? now - started : 0);
	json_unsigned(t, "image", BOARD_LOAD(head->image));
	json_text(t, "balance", conf_balance_name(BOARD_LOAD(head->balance)));
	json_unsigned(t, "building", BOARD_LOAD(head->building));
	json_begin(t, "unhealthy", '[');
	for (unsigned i = 0; board_health_words[i] != NULL; i++)
		if (unhealthy >> i & 1)
			json_text(t, NULL, board_health_words[i]);
	json_end(t, ']');
	json_unsigned(t, "keeper", BOARD_LOAD(head->keeper_pid));
	json_text(t, "dispatch", conf_dispatch_name(BOARD_LOAD(head->dispatch)));
	json_unsigned(t, "acceptor", BOARD_LOAD(head->acceptor_pid));
	json_begin(t, "cache", '{');
	for (int i = 0; i < CACHE_FACTS; i++)
		json_unsigned(t, fact_names[i], BOARD_LOAD(head->cache.v[i]));
	json_end(t, '}');
	json_unsigned(t, "time", now * 1000 + (uint64_t)wall.tv_nsec / 1000000);
	json_unsigned(t, "certificate_expires", (uint64_t)BOARD_LOAD(head->certificate_expires));
	json_unsigned(t, "image_size", BOARD_LOAD(head->image_size));
	json_unsigned(t, "image_age", image_at != 0 && now > image_at ? now - image_at : 0);
	/* The oldest second first. */
	json_begin(t, "history", '[');
	for (unsigned i = 0; i < nhistory; i++)
		json_unsigned(t, NULL, history[i]);
	json_end(t, ']');
	put_lines(t, &head->lines);
}

/* --- metrics of handlers ---------------------------------------------------------------------- */

static void put_number(struct strbuf *t, const char *name, double n)
{
	char text[32];

	json_plain(t, name, handler_counts_text(text, n));
}

static void put_handler_histogram(
	struct strbuf *t, const struct handler_metric *row, const struct handler_count *count)
{
	char bound[32];

	json_begin(t, row->name, '{');
	put_number(t, "count", handler_counts_values(row, count));
	put_number(t, "sum", count->sum);
	json_begin(t, "buckets", '{');
	for (int i = 0; i < row->nbounds; i++)
		put_number(t, handler_counts_text(bound, row->bounds[i]), count->buckets[i]);
	put_number(t, "more", count->buckets[row->nbounds]);
	json_end(t, '}');
	json_end(t, '}');
}

static void put_handlers(struct strbuf *t, const struct board *b)
{
	struct handler_counts sum = { 0 };
	const struct board_slot *s;

	if (handler_metrics.n == 0)
		return;
	handler_counts_add(&sum, &b->head.retired_handlers);
	for (unsigned i = 0; (s = board_next(b, &i)) != NULL;)
		handler_counts_add(&sum, &s->handlers);
	json_begin(t, "handlers", '{');
	for (unsigned i = 0; i < handler_metrics.n; i++) {
		const struct handler_metric *row = &handler_metrics.rows[i];

		if (row->bounds == NULL)
			put_number(t, row->name, sum.v[i].sum);
		else
			put_handler_histogram(t, row, &sum.v[i]);
	}
	json_end(t, '}');
}

static void put_upstreams(struct strbuf *t, const struct board *b)
{
	const struct server_titles *titles = &b->head.titles[SERVERS_UPSTREAM];
	struct server_counts sum = b->head.retired_servers[SERVERS_UPSTREAM];
	unsigned n = BOARD_LOAD(titles->n);
	const struct board_slot *s;

	for (unsigned i = 0; n > 0 && (s = board_next(b, &i)) != NULL;)
		board_cells_add(&sum, &s->servers[SERVERS_UPSTREAM], sizeof(sum));
	json_begin(t, "upstreams", '[');
	for (unsigned i = 0; i < n; i++) {
		json_begin(t, NULL, '{');
		json_text(t, "name", titles->v[i]);
		for (const struct server_cell *c = server_cells[SERVERS_UPSTREAM]; c->word != NULL;
			c++)
			json_signed(t, c->word, sum.v[i][c - server_cells[SERVERS_UPSTREAM]]);
		json_end(t, '}');
	}
	json_end(t, ']');
}

static void put_all(const struct board *b, void *to)
{
	struct strbuf *t = to;
	struct counters sum;
	struct board_recent recent = { 0 };
	const struct board_slot *s;

	t->n = 0;
	counters_read(&sum, &b->head.retired);
	json_begin(t, NULL, '{');
	put_head(t, &b->head);
	json_begin(t, "workers", '[');
	for (unsigned i = 0; (s = board_next(b, &i)) != NULL;)
		put_worker(t, s, &sum, &recent);
	json_end(t, ']');
	put_handlers(t, b);
	put_upstreams(t, b);
	json_begin(t, "totals", '{');
	put_counters(t, &sum);
	put_recent(t, &recent);
	strbuf_add(t, SLICE("}}\n"));
}

void status_json(const struct board *b, struct strbuf *t)
{
	board_read(b, TRIES, put_all, t);
}

static void status_json_start(struct h2d_req *req, void *state)
{
	struct strbuf t = { 0 };

	(void)state;
	status_json(req->env->admin->board, &t);
	admin_reply(req, "application/json", &t);
}

const struct h2d_handler h2d_handler_status = {
	.name = "status",
	.scope = H2D_ON_ADMIN,
	.start = status_json_start,
};
