/*
 * top_table: a machine without an answer is in no sum, and its line has the reason, however old its
 * last status is. Makes no system calls.
 */
#include "tools/top/top_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/top/top_human.h"

enum { NAME = 16 };

struct sums {
	uint64_t rate, sent, connections, requests, errors;
	unsigned answer, unwell;
	uint64_t time_ms; /* by the clock of the last one that answers */
};

static bool answers(const struct top_machine *m)
{
	return m->error[0] == '\0' && m->status != NULL;
}

/* A machine's instance-name; else its address. */
static const char *name_of(const struct top_machine *m)
{
	const char *id = "", *where = m->source.text;

	if (m->status != NULL)
		id = top_object_text(top_status_part(m->status, ""), "instance_name");
	if (*id != '\0')
		return id;
	return strncmp(where, "http://", 7) == 0 ? where + 7 : where;
}

static struct sums add_up(const struct top_machine *m, unsigned n)
{
	struct sums sums = { 0 };

	for (unsigned i = 0; i < n; i++) {
		const struct top_object *totals;

		if (!answers(&m[i]))
			continue;
		totals = top_status_part(m[i].status, "totals");
		sums.rate += top_object_number(totals, "requests_per_second");
		sums.sent += top_object_number(totals, "bytes_out_per_second");
		sums.connections += top_object_number(totals, "connections");
		sums.requests += top_object_number(totals, "requests");
		sums.errors += top_object_number(totals, "responses_5xx");
		sums.unwell += top_status_text(m[i].status, "unhealthy", 0) != NULL;
		sums.time_ms = top_object_number(top_status_part(m[i].status, ""), "time");
		sums.answer++;
	}
	return sums;
}

static void title(struct top_page *p, const struct sums *sums, unsigned n)
{
	time_t now = (time_t)(sums->time_ms / 1000);
	char clock[32] = "";
	struct tm tm;

	if (sums->answer > 0 && gmtime_r(&now, &tm) != NULL)
		strftime(clock, sizeof(clock), "   %H:%M:%S UTC", &tm);
	top_page_printf(p, TOP_TITLE, " h2d   %u of %u machines answer, health 200 from %u%s ",
		sums->answer, n, sums->answer - sums->unwell, clock);
	if (p->column < p->columns)
		top_page_printf(p, TOP_TITLE, "%*s", (int)(p->columns - p->column), "");
	top_page_end(p);
}

static void top_table_put(struct top_page *p, const char *name, const char *value)
{
	top_page_printf(p, TOP_DIM, "%s ", name);
	top_page_printf(p, TOP_BOLD, "%s", value);
	top_page_put(p, TOP_PLAIN, "   ");
}

static void totals(struct top_page *p, const struct sums *sums)
{
	char text[HUMAN_SIZE];

	top_table_put(p, "requests/s", top_human_count(text, sums->rate));
	top_table_put(p, "sent/s", human_bytes(text, sums->sent));
	top_table_put(p, "connections", top_human_count(text, sums->connections));
	top_page_end(p);
	top_table_put(p, "requests", top_human_count(text, sums->requests));
	top_table_put(p, "5xx", top_human_count(text, sums->errors));
	top_page_end(p);
}

/* --- a line for each -------------------------------------------------------------------------- */

/* "-": no request in the last seconds. */
static const char *time_of(char *buf, const struct top_object *o, const char *field)
{
	uint64_t us = top_object_number(o, field);

	return us != 0 ? top_human_us(buf, (double)us) : "-";
}

static void name(struct top_page *p, const char *text)
{
	char cut[4 * NAME + 1];

	/* The page counts columns; a longer name is cut by its bytes, which are mostly ASCII. */
	snprintf(cut, sizeof(cut), "%.*s", NAME, text);
	top_page_printf(p, TOP_BOLD, "%-*s ", NAME, cut);
}

static void health(struct top_page *p, const struct top_status *s)
{
	const char *reason = top_status_text(s, "unhealthy", 0);

	if (reason == NULL)
		top_page_printf(p, TOP_GOOD, "%-12s", "200");
	else
		top_page_printf(p, TOP_WARN, "503 %-8.8s", reason);
}

static void silent(struct top_page *p, const struct top_machine *m)
{
	if (m->status != NULL)
		name(p, name_of(m));
	top_page_put(p, TOP_BAD, m->error);
}

static void numbers(struct top_page *p, const struct top_object *t)
{
	char connections[HUMAN_SIZE], rate[HUMAN_SIZE], errors[HUMAN_SIZE];
	char p50[HUMAN_SIZE], p99[HUMAN_SIZE];

	top_page_printf(p, TOP_PLAIN, " %11s %10s %8s %8s %8s",
		top_human_count(connections, top_object_number(t, "connections")),
		top_human_count(rate, top_object_number(t, "requests_per_second")),
		top_human_count(errors, top_object_number(t, "responses_5xx")),
		time_of(p50, t, "first_byte_p50_us"), time_of(p99, t, "first_byte_p99_us"));
}

static void machine(struct top_page *p, const struct top_machine *m)
{
	if (answers(m)) {
		name(p, name_of(m));
		health(p, m->status);
		numbers(p, top_status_part(m->status, "totals"));
	} else if (m->error[0] != '\0') {
		silent(p, m);
	} else {
		top_page_printf(p, TOP_DIM, "%s: asked", m->source.text);
	}
	top_page_end(p);
}

void top_table(struct top_page *p, const struct top_machine *m, unsigned n)
{
	struct sums sums = add_up(m, n);

	title(p, &sums, n);
	totals(p, &sums);
	top_page_end(p);
	top_page_printf(p, TOP_DIM, "%-*s %-12s %11s %10s %8s %8s %8s", NAME, "MACHINE", "HEALTH",
		"CONNECTIONS", "PER SECOND", "5XX", "P50", "P99");
	top_page_end(p);
	for (unsigned i = 0; i < n; i++) {
		if (!top_page_has_room(p, 1) && i + 1 < n) {
			top_page_put(p, TOP_DIM, "more machines do not fit");
			top_page_end(p);
			return;
		}
		machine(p, &m[i]);
	}
}
