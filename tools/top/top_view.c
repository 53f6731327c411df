/*
 * top_view: the summary first, then the workers, then the last warnings and errors, of which some
 * are shown however many workers there are. Makes no system calls.
 */
#include "tools/top/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/top/top_human.h"

enum {
	HISTORY = 60,
	SPARK = 40,
	WIDE = 120, /* columns for a whole line of the summary */
	LINES_KEPT = 5,
	LINES_MAX = 16,
};

static const char *top_view_count(char *buf, uint64_t n)
{
	return top_human_count(buf, n);
}

/* "name value  ", the value in bold. */
static void top_view_put(struct top_page *p, const char *name, const char *value)
{
	top_page_printf(p, TOP_DIM, "%s ", name);
	top_page_printf(p, TOP_BOLD, "%s", value);
	top_page_put(p, TOP_PLAIN, "   ");
}

/* "-": no request in the last seconds. */
static const char *time_of(char *buf, const struct top_object *o, const char *field)
{
	uint64_t us = top_object_number(o, field);

	return us != 0 ? top_human_us(buf, (double)us) : "-";
}

static void put_count(
	struct top_page *p, const char *name, const struct top_object *o, const char *field)
{
	char text[HUMAN_SIZE];

	top_view_put(p, name, top_view_count(text, top_object_number(o, field)));
}

static bool is_narrow(const struct top_page *p)
{
	return p->columns != 0 && p->columns < WIDE;
}

/* --- the summary ------------------------------------------------------------------------------ */

static void title(struct top_page *p, const struct top_object *all)
{
	const char *id = top_object_text(all, "instance_name");
	char up[HUMAN_SIZE], clock[32] = "";
	time_t now = (time_t)(top_object_number(all, "time") / 1000);
	struct tm tm;

	if (gmtime_r(&now, &tm) != NULL)
		strftime(clock, sizeof(clock), "%H:%M:%S UTC", &tm);
	top_page_printf(p, TOP_TITLE, " h2d %s   ", top_object_text(all, "version"));
	if (*id != '\0')
		top_page_printf(p, TOP_TITLE, "%s   ", id);
	top_page_printf(p, TOP_TITLE, "up %s   generation %" PRIu64 "   ",
		top_human_seconds(up, top_object_number(all, "uptime")),
		top_object_number(all, "generation"));
	if (!is_narrow(p))
		top_page_printf(p, TOP_TITLE, "%s, %s   ", top_object_text(all, "dispatch"),
			top_object_text(all, "balance"));
	top_page_printf(p, TOP_TITLE, "%s ", clock);
	if (p->column < p->columns)
		top_page_printf(p, TOP_TITLE, "%*s", (int)(p->columns - p->column), "");
	top_page_end(p);
}

/* The last minute in blocks of eight heights, if the terminal has them. */
static void spark(struct top_page *p, const struct top_status *s)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	uint64_t v[HISTORY], most = 1;
	size_t n = top_status_history(s, v, HISTORY), room = SPARK;

	if (!p->utf8 || (p->columns != 0 && p->columns < 80))
		return;
	if (p->columns != 0 && p->columns - p->column < room)
		room = p->columns - p->column;
	for (size_t i = 0; i < n; i++)
		most = v[i] > most ? v[i] : most;
	for (size_t i = n > room ? n - room : 0; i < n; i++)
		top_page_put(p, TOP_GOOD, blocks[(v[i] * 7 + most - 1) / most]);
}

static void rates(struct top_page *p, const struct top_status *s, const struct top_object *totals)
{
	char sent[HUMAN_SIZE];

	put_count(p, "requests/s", totals, "requests_per_second");
	top_view_put(
		p, "sent/s", human_bytes(sent, top_object_number(totals, "bytes_out_per_second")));
	put_count(p, "connections", totals, "connections");
	spark(p, s);
	top_page_end(p);
}

static void requests(struct top_page *p, const struct top_object *totals)
{
	char p50[HUMAN_SIZE], p99[HUMAN_SIZE];

	put_count(p, "requests", totals, "requests");
	put_count(p, "2xx", totals, "responses_2xx");
	put_count(p, "3xx", totals, "responses_3xx");
	put_count(p, "4xx", totals, "responses_4xx");
	if (is_narrow(p))
		top_page_end(p);
	put_count(p, "5xx", totals, "responses_5xx");
	put_count(p, "broken off", totals, "requests_aborted");
	top_view_put(p, "first byte p50", time_of(p50, totals, "first_byte_p50_us"));
	top_view_put(p, "p99", time_of(p99, totals, "first_byte_p99_us"));
	top_page_end(p);
}

static void cache(struct top_page *p, const struct top_status *s, const struct top_object *totals)
{
	const struct top_object *all = top_status_part(s, "");
	char text[HUMAN_SIZE];

	put_count(p, "image", all, "image");
	top_view_put(p, "age", top_human_seconds(text, top_object_number(all, "image_age")));
	top_view_put(p, "size", human_bytes(text, top_object_number(all, "image_size")));
	put_count(p, "files", top_status_part(s, "cache"), "entries");
	if (is_narrow(p))
		top_page_end(p);
	put_count(p, "hits", totals, "cache_hits");
	put_count(p, "misses", totals, "cache_misses");
	top_page_end(p);
}

/* The status for load balancers, and its reasons. */
static void health(struct top_page *p, const struct top_status *s)
{
	const char *reason = top_status_text(s, "unhealthy", 0);

	top_page_put(p, TOP_DIM, "health ");
	if (reason == NULL) {
		top_page_put(p, TOP_BOLD, "200");
		return;
	}
	top_page_put(p, TOP_WARN, "503:");
	for (size_t i = 0; (reason = top_status_text(s, "unhealthy", i)) != NULL; i++)
		top_page_printf(p, TOP_WARN, "%s %s", i > 0 ? "," : "", reason);
}

static void processes(struct top_page *p, const struct top_status *s)
{
	const struct top_object *all = top_status_part(s, "");
	uint64_t acceptor = top_object_number(all, "acceptor");
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, top_object_number(all, "keeper"));
	top_view_put(p, "keeper", text);
	snprintf(text, sizeof(text), "%" PRIu64, acceptor);
	top_view_put(p, "acceptor", acceptor != 0 ? text : "none");
	health(p, s);
	top_page_end(p);
}

/* --- the workers ------------------------------------------------------------------------------ */

static enum top_style state_style(const char *state)
{
	return strcmp(state, "up") == 0 ? TOP_GOOD : TOP_WARN;
}

static void worker(struct top_page *p, const struct top_object *w)
{
	const char *state = top_object_text(w, "state");
	char requests_text[HUMAN_SIZE], rate[HUMAN_SIZE], connections[HUMAN_SIZE];
	char p50[HUMAN_SIZE], p99[HUMAN_SIZE];

	top_page_printf(p, TOP_BOLD, "%4" PRIu64 " ", top_object_number(w, "slot"));
	top_page_printf(p, state_style(state), "%-6s", state);
	top_page_printf(p, TOP_PLAIN, " %8" PRIu64 " %4" PRIu64 " %11s %11s %10s %8s %8s",
		top_object_number(w, "pid"), top_object_number(w, "generation"),
		top_view_count(connections, top_object_number(w, "connections")),
		top_view_count(requests_text, top_object_number(w, "requests")),
		top_view_count(rate, top_object_number(w, "requests_per_second")),
		time_of(p50, w, "first_byte_p50_us"), time_of(p99, w, "first_byte_p99_us"));
	top_page_end(p);
}

static void workers(struct top_page *p, const struct top_status *s, unsigned keep)
{
	const struct top_object *w;

	top_page_printf(p, TOP_DIM, "%4s %-6s %8s %4s %11s %11s %10s %8s %8s", "SLOT", "STATE",
		"PID", "GEN", "CONNECTIONS", "REQUESTS", "PER SECOND", "P50", "P99");
	top_page_end(p);
	for (size_t i = 0; (w = top_status_at(s, "workers", i)) != NULL; i++) {
		if (!top_page_has_room(p, keep + 1) && top_status_at(s, "workers", i + 1) != NULL) {
			top_page_put(p, TOP_DIM, "     more workers do not fit");
			top_page_end(p);
			return;
		}
		worker(p, w);
	}
}

/* --- the last lines --------------------------------------------------------------------------- */

static unsigned count_lines(const struct top_status *s)
{
	unsigned n = 0;

	while (n < LINES_MAX && top_status_at(s, "lines", n) != NULL)
		n++;
	return n;
}

static void line(struct top_page *p, const struct top_object *l)
{
	const char *level = top_object_text(l, "level");
	time_t at = (time_t)(top_object_number(l, "time") / 1000);
	char clock[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm) != NULL)
		strftime(clock, sizeof(clock), "%m-%d %H:%M:%S", &tm);
	top_page_printf(p, TOP_DIM, "%s ", clock);
	top_page_printf(p, strcmp(level, "warn") == 0 ? TOP_WARN : TOP_BAD, "%-5s ", level);
	top_page_printf(p, TOP_DIM, "%s: ", top_object_text(l, "who"));
	top_page_put(p, TOP_PLAIN, top_object_text(l, "text"));
	top_page_end(p);
}

static void lines(struct top_page *p, const struct top_status *s)
{
	const struct top_object *l;

	top_page_end(p);
	top_page_put(p, TOP_DIM,
		count_lines(s) > 0 ? "LAST WARNINGS AND ERRORS" : "no warnings, no errors");
	top_page_end(p);
	for (size_t i = 0; i < LINES_MAX && (l = top_status_at(s, "lines", i)) != NULL; i++)
		line(p, l);
}

void top_view(struct top_page *p, const struct top_status *s)
{
	const struct top_object *all = top_status_part(s, ""),
				*totals = top_status_part(s, "totals");
	unsigned n = count_lines(s), keep = 2 + (n < LINES_KEPT ? n : LINES_KEPT);

	title(p, all);
	rates(p, s, totals);
	requests(p, totals);
	cache(p, s, totals);
	processes(p, s);
	top_page_end(p);
	/* In a short window workers matter more than old lines. */
	workers(p, s, p->rows != 0 && p->rows < 20 ? 0 : keep);
	lines(p, s);
}
