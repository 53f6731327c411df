/*
 * status_html: writes the scoreboard as HTML. The worker that was asked for the page calls it, and
 * once a second for each stream of events. Other processes write the board meanwhile, and texts of
 * the log come from peers: each field is read once, and all text is escaped.
 */
#include "board/status_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/log.h"
#include "board/board_health.h"
#include "board/recent.h"
#include "conf/conf.h"

#define GAP "\u202f" /* between groups of digits: narrow, and no line ends there */

enum { SPARK_STEP = 4, SPARK_HEIGHT = 48, TRIES = 10 };

/* Everything that is shown, read once. */
struct look {
	const struct board_head *head;
	uint64_t now; /* wall clock, seconds */
	struct counters sum;
	struct board_recent recent;
	struct strbuf rows; /* of the workers */
};

/* --- pieces ----------------------------------------------------------------------------------- */

static void put_count(struct strbuf *t, int64_t n)
{
	char text[HUMAN_SIZE];

	strbuf_printf(t, "<data value=%" PRId64 ">%s</data>", n,
		human_count(text, n > 0 ? (uint64_t)n : 0, GAP));
}

void status_html_bytes(struct strbuf *t, uint64_t n)
{
	char text[HUMAN_SIZE];

	strbuf_printf(t, "<data value=%" PRIu64 ">%s</data>", n, human_bytes(text, n));
}

void status_html_seconds(struct strbuf *t, uint64_t s)
{
	char text[HUMAN_SIZE];

	strbuf_printf(t, "<data value=%" PRIu64 ">%s</data>", s, human_seconds(text, s));
}

static void put_quantile(struct strbuf *t, const struct board_recent *r, double q)
{
	double us = recent_quantile(r, q);
	char text[HUMAN_SIZE];

	if (us < 0)
		strbuf_add(t, SLICE("\u2013"));
	else
		strbuf_printf(t, "<data value=%.0f>%s</data>", us, human_us(text, us));
}

static int64_t total(const struct look *l, int cell)
{
	return counters_get(&l->sum, cell);
}

/* A name and what is below it: begin, then the value, then end. */
static void fact_begin(struct strbuf *t, const char *id, const char *name)
{
	strbuf_printf(t, "<div><dt>%s</dt><dd id=%s>", name, id);
}

static void fact_end(struct strbuf *t)
{
	strbuf_add(t, SLICE("</dd></div>"));
}

static void fact_count(struct strbuf *t, const char *id, const char *name, int64_t n)
{
	fact_begin(t, id, name);
	put_count(t, n);
	fact_end(t);
}

static void fact_text(struct strbuf *t, const char *id, const char *name, const char *text)
{
	fact_begin(t, id, name);
	strbuf_html(t, slice_str(text));
	fact_end(t);
}

/* --- requests per second ---------------------------------------------------------------------- */

/* The line of the last minute; its newest second at the right. */
static void spark_line(struct strbuf *t, const uint32_t *v, unsigned n, uint32_t most)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned x = (BOARD_HISTORY - n + i) * SPARK_STEP;
		double y = SPARK_HEIGHT - 1.0 - (SPARK_HEIGHT - 2.0) * v[i] / (most ? most : 1);

		strbuf_printf(t, "%s%u %.1f", i > 0 ? "L" : "", x, y);
	}
}

static void spark(struct strbuf *t, const struct board_head *head)
{
	uint32_t v[BOARD_HISTORY], most = 0;
	unsigned n = recent_history(head, v);
	unsigned right = (BOARD_HISTORY - 1) * SPARK_STEP, left = (BOARD_HISTORY - n) * SPARK_STEP;

	for (unsigned i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	strbuf_printf(t,
		"<svg viewBox=\"0 0 %u %u\" preserveAspectRatio=none role=img "
		"aria-label=\"Requests per second in the last minute, %u at most\">",
		right, SPARK_HEIGHT, most);
	if (n > 1) {
		strbuf_printf(t, "<path class=area d=\"M%u %uL", left, SPARK_HEIGHT);
		spark_line(t, v, n, most);
		strbuf_printf(t, "L%u %uZ\"/><path class=line d=\"M", right, SPARK_HEIGHT);
		spark_line(t, v, n, most);
		strbuf_add(t, SLICE("\"/>"));
	}
	strbuf_printf(t, "</svg><small>last minute, %u at most</small>", most);
}

/* --- parts of the page ------------------------------------------------------------------------ */

static void put_share(struct strbuf *t, int64_t hits, int64_t misses)
{
	if (hits < 0 || misses < 0 || hits + misses <= 0)
		strbuf_add(t, SLICE("\u2013"));
	else
		strbuf_printf(t, "%.1f %%", 100.0 * (double)hits / ((double)hits + (double)misses));
}

static void tiles(struct strbuf *t, const struct look *l)
{
	strbuf_add(t, SLICE("<dl class=tiles><div class=wide><dt>Requests per second</dt>"
			    "<dd id=rate>"));
	put_count(t, l->recent.requests);
	strbuf_add(t, SLICE("</dd><dd class=spark id=spark>"));
	spark(t, l->head);
	fact_end(t);
	fact_count(t, "connections", "<a href=\"/status/connections\">Connections</a>",
		total(l, COUNTER_connections));
	fact_begin(t, "sent", "Sent per second");
	status_html_bytes(t, l->recent.bytes_out);
	fact_end(t);
	fact_begin(t, "p50", "First byte after");
	put_quantile(t, &l->recent, 0.5);
	strbuf_add(t, SLICE("</dd><dd class=more id=p99>p99 "));
	put_quantile(t, &l->recent, 0.99);
	strbuf_add(t, SLICE(", last 10 s"));
	fact_end(t);
	fact_begin(t, "share", "Out of the cache");
	put_share(t, total(l, COUNTER_cache_hits), total(l, COUNTER_cache_misses));
	fact_end(t);
	strbuf_add(t, SLICE("</dl>"));
}

static void answers(struct strbuf *t, const struct look *l)
{
	strbuf_add(t, SLICE("<section aria-labelledby=answers><h2 id=answers>Requests</h2><dl>"));
	fact_count(t, "requests", "all", total(l, COUNTER_requests));
	fact_count(t, "r2", "2xx", total(l, COUNTER_responses_2xx));
	fact_count(t, "r3", "3xx", total(l, COUNTER_responses_3xx));
	fact_count(t, "r4", "4xx", total(l, COUNTER_responses_4xx));
	fact_count(t, "r5", "5xx", total(l, COUNTER_responses_5xx));
	fact_count(t, "aborted", "broken off", total(l, COUNTER_requests_aborted));
	fact_count(t, "live", "under way", total(l, COUNTER_requests_live));
	strbuf_add(t, SLICE("</dl></section>"));
}

static void process(struct strbuf *t, const char *id, const char *name, uint32_t pid)
{
	fact_begin(t, id, name);
	if (pid != 0)
		strbuf_printf(t, "process <data value=%u>%u</data>", pid, pid);
	else
		strbuf_add(t, SLICE("none"));
	fact_end(t);
}

/* Days until the first one expires. */
static void put_certificate(struct strbuf *t, const struct look *l)
{
	int64_t end = BOARD_LOAD(l->head->certificate_expires);

	if (end == 0)
		return;
	fact_begin(t, "certificate", "certificate expires in");
	strbuf_printf(t, "%d days", (int)((end - (int64_t)l->now) / 86400));
	fact_end(t);
}

static void put_health(struct strbuf *t, const struct board_head *head)
{
	uint32_t facts = BOARD_LOAD(head->health);
	char text[FLAGS_TEXT];

	fact_begin(t, "health", "health");
	if (facts == 0)
		strbuf_add(t, SLICE("200"));
	else
		strbuf_printf(t, "503: %s", flags_text(board_health_words, facts, text));
	fact_end(t);
}

static void server(struct strbuf *t, const struct look *l)
{
	strbuf_add(t, SLICE("<section aria-labelledby=server><h2 id=server>Server</h2><dl>"));
	if (l->head->server_id[0] != '\0')
		fact_text(t, "machine", "name", l->head->server_id);
	fact_text(t, "version", "version", PACKAGE_VERSION);
	put_health(t, l->head);
	fact_begin(t, "uptime", "up for");
	status_html_seconds(t, l->now > l->head->started ? l->now - l->head->started : 0);
	fact_end(t);
	fact_count(t, "generation", "generation", BOARD_LOAD(l->head->generation));
	fact_text(t, "dispatch", "dispatch", conf_dispatch_name(BOARD_LOAD(l->head->dispatch)));
	fact_text(t, "balance", "balance", conf_balance_name(BOARD_LOAD(l->head->balance)));
	put_certificate(t, l);
	process(t, "keeper", "keeper", BOARD_LOAD(l->head->keeper_pid));
	process(t, "acceptor", "acceptor", BOARD_LOAD(l->head->acceptor_pid));
	strbuf_add(t, SLICE("</dl></section>"));
}

static void cache(struct strbuf *t, const struct look *l)
{
	const struct board_head *h = l->head;
	uint64_t at = BOARD_LOAD(h->image_at), image = BOARD_LOAD(h->image);

	strbuf_add(t, SLICE("<section aria-labelledby=cache><h2 id=cache>Cache</h2><dl>"));
	fact_count(t, "image", "image", (int64_t)image);
	fact_begin(t, "age", "its age");
	if (image != 0)
		status_html_seconds(t, l->now > at ? l->now - at : 0);
	else
		strbuf_add(t, SLICE("\u2013"));
	fact_end(t);
	fact_begin(t, "size", "its size");
	status_html_bytes(t, BOARD_LOAD(h->image_size));
	fact_end(t);
	fact_count(t, "files", "files", (int64_t)BOARD_LOAD(h->cache.v[CACHE_FACT_entries]));
	fact_count(t, "pending", "to be read", (int64_t)BOARD_LOAD(h->cache.v[CACHE_FACT_pending]));
	fact_count(t, "hits", "hits", total(l, COUNTER_cache_hits));
	fact_count(t, "misses", "misses", total(l, COUNTER_cache_misses));
	strbuf_add(t, SLICE("</dl></section>"));
}

static void cell(struct strbuf *t, int64_t n)
{
	strbuf_add(t, SLICE("<td>"));
	put_count(t, n);
}

/* Puts a row, and adds what the worker counted to the sums. */
static void worker(struct look *l, const struct board_slot *s)
{
	struct strbuf *t = &l->rows;
	const char *state = states_name(&board_states, BOARD_LOAD(s->state));
	int32_t pid = BOARD_LOAD(s->pid);
	struct counters c;
	struct board_recent r;

	counters_read(&c, &s->counters);
	recent_read(&r, s);
	strbuf_printf(t,
		"<tr><th scope=row>%" PRIu32 "<td class=%s>%s<td><data value=%" PRId32 ">%" PRId32
		"</data><td>%" PRIu32,
		BOARD_LOAD(s->slot), state, state, pid, pid, BOARD_LOAD(s->generation));
	cell(t, counters_get(&c, COUNTER_connections));
	cell(t, counters_get(&c, COUNTER_requests));
	cell(t, r.requests);
	strbuf_add(t, SLICE("<td>"));
	put_quantile(t, &r, 0.5);
	strbuf_add(t, SLICE("<td>"));
	put_quantile(t, &r, 0.99);
	counters_add(&l->sum, &c);
	recent_add(&l->recent, &r);
}

static void workers(struct strbuf *t, const struct look *l)
{
	static const char *const columns[] = { "State", "PID", "Generation", "Connections",
		"Requests", "Per second", "p50", "p99" };

	strbuf_add(t, SLICE("<section aria-labelledby=workers><h2 id=workers>Workers</h2>"
			    "<div class=scroll role=region aria-labelledby=workers tabindex=0>"
			    "<table><thead><tr><th scope=col>Slot"));
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		strbuf_printf(t, "<th scope=col>%s", columns[i]);
	strbuf_add(t, SLICE("</thead><tbody id=rows>"));
	strbuf_add(t, slice_of(l->rows.p, l->rows.n));
	strbuf_add(t, SLICE("</tbody></table></div></section>"));
}

/* --- the last lines --------------------------------------------------------------------------- */

void status_html_time(struct strbuf *t, uint64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	char stamp[32] = "", day[16] = "", hour[16] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm) != NULL) {
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
		strftime(hour, sizeof(hour), "%H:%M:%S", &tm);
	}
	strbuf_printf(t, "<time datetime=\"%s\">%s <b>%s</b></time>", stamp, day, hour);
}

static void put_line(struct strbuf *t, const struct board_line *line)
{
	const char *level = log_level_name((enum log_level)line->level);

	strbuf_add(t, SLICE("<li>"));
	status_html_time(t, line->ms);
	strbuf_printf(t, " <span class=%s>%s</span> <span class=who>", level, level);
	strbuf_html(t, slice_str(line->who));
	strbuf_add(t, SLICE("</span> <p>"));
	strbuf_html(t, slice_str(line->text));
	strbuf_add(t, SLICE("</p>"));
}

static void lines(struct strbuf *t, const struct look *l)
{
	struct board_line line;
	unsigned n = 0;

	strbuf_add(t, SLICE("<section aria-labelledby=errors><h2 id=errors>Last warnings and "
			    "errors</h2><ol id=lines>"));
	for (unsigned i = 0; i < BOARD_LINES; i++)
		if (board_lines_get(&l->head->lines, i, &line)) {
			put_line(t, &line);
			n++;
		}
	if (n == 0)
		strbuf_add(t, SLICE("<li class=none>None since the start."));
	strbuf_add(t, SLICE("</ol></section>"));
}

static void look_at_workers(const struct board *b, void *to)
{
	struct look *l = to;
	const struct board_slot *s;

	l->rows.n = 0;
	l->recent = (struct board_recent){ 0 };
	counters_read(&l->sum, &b->head.retired);
	for (unsigned i = 0; (s = board_next(b, &i)) != NULL;)
		worker(l, s);
}

void status_html(const struct board *b, struct strbuf *t)
{
	struct look l = { .head = &b->head, .now = (uint64_t)clock_wall().tv_sec };

	board_read(b, TRIES, look_at_workers, &l);
	strbuf_add(t, SLICE("<p class=stamp id=stamp>"));
	status_html_time(t, l.now * 1000);
	strbuf_add(t, SLICE(" UTC</p>"));
	tiles(t, &l);
	workers(t, &l);
	strbuf_add(t, SLICE("<div class=columns>"));
	answers(t, &l);
	cache(t, &l);
	server(t, &l);
	strbuf_add(t, SLICE("</div>"));
	lines(t, &l);
	t->failed |= l.rows.failed;
	strbuf_fini(&l.rows);
}
