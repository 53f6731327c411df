/*
 * metrics: counters and gauges are listed per worker slot without a sum, because sum() would count
 * twice; a slot continues the counts of its last process, so that totals never drop. Histograms
 * are of all workers: by slot they would be thousands of series.
 */
#include "board/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/build_id.h"
#include "board/admin.h"
#include "board/board.h"
#include "board/board_health.h"
#include "http/coding.h"

struct name {
	const char *metric, *label, *value, *help;
};

static const struct name names[COUNTER_COUNT] = {
#define METRIC(counter, metric, label, value, help) \
	[COUNTER_##counter] = { metric, label, value, help },
#include "board/metrics.def"
};

static void put_number(struct metrics_out *o, const char *name, const char *help, uint64_t value)
{
	metrics_family(o, METRICS_GAUGE, name, help);
	metrics_sample(o, NULL, 0, (int64_t)value);
}

/* --- of the whole server ---------------------------------------------------------------------- */

static void put_health(
	struct metrics_out *o, const struct board_head *h, const struct board_view *v)
{
	uint32_t facts = BOARD_LOAD(h->health);

	metrics_family(o, METRICS_GAUGE, "unhealthy", "1: health answers 503, by reason");
	for (unsigned i = 0; board_health_words[i] != NULL; i++)
		metrics_sample(o,
			&(struct metrics_label){ "reason", slice_str(board_health_words[i]) }, 1,
			facts >> i & 1);
	metrics_family(o, METRICS_GAUGE, "workers", "worker processes, by state");
	for (uint32_t i = 0; i < BOARD_STATES; i++)
		metrics_sample(o,
			&(struct metrics_label){
				"state", slice_str(states_name(&board_states, i)) },
			1, v->states[i]);
}

static void put_head(
	struct metrics_out *o, const struct board_head *h, const struct metrics_facts *facts)
{
	const struct metrics_label build[] = { { "version", SLICE(PACKAGE_VERSION) },
		{ "build", slice_str(build_id()) } };
	/* Joins it with all other metrics of the same target, group_left(instance_name); also
	 * present without a name, because a join with a missing series is empty. */
	const struct metrics_label machine = { "instance_name", slice_str(h->instance_name) };

	metrics_family(o, METRICS_INFO, "build", "version and build of the server");
	metrics_sample(o, build, 2, 1);
	metrics_family(o, METRICS_INFO, "machine", "name of this machine (instance-name)");
	metrics_sample(o, &machine, 1, 1);
	put_number(o, "start_time_seconds", "start of the master, in seconds since 1970",
		BOARD_LOAD(h->started));
	put_number(
		o, "generation", "number of the current configuration", BOARD_LOAD(h->generation));
	put_number(o, "image", "number of the newest cache image; 0: none", BOARD_LOAD(h->image));
	put_number(o, "image_timestamp_seconds",
		"time of the newest cache image, in seconds since 1970; 0: none",
		BOARD_LOAD(h->image_at));
	put_number(o, "keeper_up", "1: the keeper runs", BOARD_LOAD(h->keeper_pid) != 0);
	put_number(o, "keeper_ticks", "1: the keeper responds, and workers use its cache image",
		facts->keeper_ticks);
#define FACT(name, help) \
	put_number(o, "cache_" #name, help, BOARD_LOAD(h->cache.v[CACHE_FACT_##name]));
#include "base/cache_facts.def"
}

/* Puts a sample for each certificate of each server, under its title and the kind of its key. */
static void put_certificates(struct metrics_out *o, const struct sites *sites)
{
	metrics_family(o, METRICS_GAUGE, "certificate_expiry_timestamp_seconds",
		"expiry of the certificates of a server, in seconds since 1970");
	for (unsigned i = 0; sites != NULL && i < sites->n; i++) {
		const struct site *site = &sites->v[i];

		for (unsigned k = 0; k < site->nexpiries; k++) {
			const struct metrics_label labels[] = { { "server", site->name },
				{ "key", slice_str(site->expiries[k].key) } };

			if (site->expiries[k].at != 0)
				metrics_sample(o, labels, 2, site->expiries[k].at);
		}
	}
}

static const struct name count_names[BOARD_COUNTS] = {
#define BOARD_COUNT(name, metric, label, value, help) { metric, label, value, help },
#include "board/board_counts.def"
};

static void put_counts(struct metrics_out *o, const struct board_head *h)
{
	for (int i = 0; i < BOARD_COUNTS; i++) {
		const struct name *n = &count_names[i];
		const struct metrics_label label = { n->label, slice_str(n->value) };

		if (n->help != NULL)
			metrics_family(o, METRICS_COUNTER, n->metric, n->help);
		metrics_sample(o, &label, n->label != NULL, (int64_t)BOARD_LOAD(h->counts[i]));
	}
}

/* --- by worker slot --------------------------------------------------------------------------- */

static void put_worker(struct metrics_out *o, unsigned slot, const struct name *name, int64_t value)
{
	char digits[12];
	struct metrics_label labels[2];
	unsigned n = 0;

	snprintf(digits, sizeof(digits), "%u", slot);
	labels[n++] = (struct metrics_label){ "worker", slice_str(digits) };
	if (name->label != NULL)
		labels[n++] = (struct metrics_label){ name->label, slice_str(name->value) };
	metrics_sample(o, labels, n, value);
}

/* The metric of a counter without a row in metrics.def: "_total" is appended later. */
static struct name name_of(int counter, char buf[64])
{
	const struct counter_info *info = &counter_info[counter];
	size_t n = strlen(info->name);

	if (names[counter].metric != NULL)
		return names[counter];
	if (n > 6 && strcmp(info->name + n - 6, "_total") == 0)
		n -= 6;
	snprintf(buf, 64, "%.*s", (int)n, info->name);
	return (struct name){ .metric = buf };
}

static void put_counters(struct metrics_out *o, const struct board_view *v)
{
	char last[64] = "", buf[64];

	for (int i = 0; i < COUNTER_COUNT; i++) {
		struct name name = name_of(i, buf);

		if (strcmp(name.metric, last) != 0)
			metrics_family(o,
				counter_info[i].kind == COUNTER_TOTAL ? METRICS_COUNTER
								      : METRICS_GAUGE,
				name.metric, name.help != NULL ? name.help : counter_info[i].help);
		for (unsigned s = 0; s < v->nslots; s++)
			if (v->slots[s].used)
				put_worker(o, s, &name, counters_get(&v->slots[s].n, i));
		snprintf(last, sizeof(last), "%s", name.metric);
	}
}

static void put_images(struct metrics_out *o, const struct board_view *v)
{
	metrics_family(o, METRICS_GAUGE, "worker_image",
		"number of the cache image that a worker uses; 0: none");
	for (unsigned s = 0; s < v->nslots; s++)
		if (v->slots[s].living > 0)
			put_worker(o, s, &(struct name){ 0 }, (int64_t)v->slots[s].image);
}

/* Omits an unknown kind. */
static void put_kind(struct metrics_out *o, const char *kind, uint64_t value)
{
	if (value > 0)
		metrics_sample(
			o, &(struct metrics_label){ "kind", slice_str(kind) }, 1, (int64_t)value);
}

static uint64_t use_of(const struct process_use *u, bool memory)
{
	return memory ? BOARD_LOAD(u->memory) : BOARD_LOAD(u->descriptors);
}

static void put_use(
	struct metrics_out *o, const struct board_head *h, const struct board_view *v, bool memory)
{
	if (memory)
		metrics_family(o, METRICS_GAUGE, "process_resident_memory_bytes",
			"resident memory of each worker slot, the master and the keeper, with "
			"shared memory");
	else
		metrics_family(o, METRICS_GAUGE, "process_open_fds",
			"open descriptors of each worker slot, the master and the keeper");
	put_kind(o, "master", use_of(&h->use, memory));
	if (BOARD_LOAD(h->keeper_pid) != 0)
		put_kind(o, "keeper", use_of(&h->cache.use, memory));
	for (unsigned s = 0; s < v->nslots; s++)
		if (use_of(&v->slots[s].use, memory) > 0)
			put_worker(o, s, &(struct name){ 0 },
				(int64_t)use_of(&v->slots[s].use, memory));
}

/* --- by server -------------------------------------------------------------------------------- */

static void put_servers(struct metrics_out *o, const char *kind, const struct server_cell *cells,
	const struct server_titles *titles, const struct server_counts *counts)
{
	unsigned n = BOARD_LOAD(titles->n);
	const char *label = NULL;

	for (unsigned c = 0; n > 0 && c < SERVER_CELLS && cells[c].word != NULL; c++) {
		if (cells[c].metric != NULL) {
			metrics_family(o, METRICS_COUNTER, cells[c].metric, cells[c].help);
			label = cells[c].label;
		}
		for (unsigned i = 0; i < n; i++)
			metrics_sample(o,
				(struct metrics_label[]){ { kind, slice_str(titles->v[i]) },
					{ label, slice_str(cells[c].word) } },
				label != NULL ? 2 : 1, counts->v[i][c]);
	}
}

/* --- histograms ------------------------------------------------------------------------------- */

/* "_us" in a counter's name becomes "_seconds" in the metric's. */
static void put_histogram(
	struct metrics_out *o, const struct histogram_info *h, const int64_t *cells)
{
	char name[64];
	int n = (int)strlen(h->name) - 3;

	snprintf(name, sizeof(name), "%.*s_seconds", n, h->name);
	metrics_family(o, METRICS_HISTOGRAM, name, h->help);
	metrics_histogram(o, NULL, 0,
		&(struct metrics_buckets){ h->bounds, cells + h->cell + HISTOGRAM_BUCKETS,
			h->nbounds, cells[h->cell + HISTOGRAM_SUM] });
}

static bool is_empty(const struct route_time *t)
{
	for (int i = 0; i <= ROUTE_TIMES_BOUNDS; i++)
		if (t->buckets[i] > 0)
			return false;
	return true;
}

static void put_time(struct metrics_out *o, const struct route_table *routes, unsigned route,
	unsigned class, const struct route_time *t)
{
	const struct metrics_label labels[] = { { "route", route_times_route(routes, route) },
		{ "method", route_times_method(routes, route) },
		{ "class", slice_str(route_times_class(class)) } };

	if (!is_empty(t))
		metrics_histogram(o, labels, 3,
			&(struct metrics_buckets){
				route_times_bounds, t->buckets, ROUTE_TIMES_BOUNDS, t->sum });
}

#define FOREACH_TIME(r, c, routes) \
	for (unsigned r = 0; r < ROUTE_TIMES_ROUTES; r++) \
		for (unsigned c = 0; c < ROUTE_TIMES_CLASSES && route_times_has(routes, r); c++)

static void put_times(
	struct metrics_out *o, const struct board_view *v, const struct route_table *routes)
{
	metrics_family(o, METRICS_HISTOGRAM, "request_duration_seconds",
		"time from the first header of a request to its end");
	FOREACH_TIME(r, c, routes)
	put_time(o, routes, r, c, &v->times.v[r][c].duration);
	metrics_family(o, METRICS_HISTOGRAM, "request_first_byte_seconds",
		"time from the first header of a request to the headers of its response");
	FOREACH_TIME(r, c, routes)
	put_time(o, routes, r, c, &v->times.v[r][c].first_byte);
}

/* --- of handlers ------------------------------------------------------------------------------ */

static void put_handler_metric(
	struct metrics_out *o, const struct handler_metric *row, const struct handler_count *count)
{
	char name[64];
	int n = (int)strlen(row->name);

	if (row->bounds == NULL)
		n -= (int)strlen("_total");
	snprintf(name, sizeof(name), "%.*s", n, row->name);
	metrics_family(
		o, row->bounds == NULL ? METRICS_COUNTER : METRICS_HISTOGRAM, name, row->help);
	if (row->bounds == NULL)
		metrics_number(o, count->sum);
	else
		metrics_numbers(o, row->bounds, row->nbounds, count);
}

void metrics_text(const struct board *b, const struct metrics_facts *facts, enum metrics_form form,
	struct strbuf *t)
{
	struct board_view *v = board_view_new(b);
	struct metrics_out o = { .form = form };

	if (v == NULL) {
		t->failed = true;
		return;
	}
	put_head(&o, &b->head, facts);
	put_certificates(&o, facts->sites);
	put_health(&o, &b->head, v);
	put_counts(&o, &b->head);
	put_counters(&o, v);
	put_images(&o, v);
	put_use(&o, &b->head, v, true);
	put_use(&o, &b->head, v, false);
	for (int i = 0; i < SERVER_KINDS; i++)
		put_servers(&o, i == SERVERS_OWN ? "server" : "upstream", server_cells[i],
			&b->head.titles[i], &v->servers[i]);
	for (int i = 0; i < HISTOGRAM_COUNT; i++)
		put_histogram(&o, &histogram_info[i], (const int64_t *)&v->sum);
	put_times(&o, v, facts->routes);
	o.of_handlers = true;
	for (unsigned i = 0; i < handler_metrics.n; i++)
		put_handler_metric(&o, &handler_metrics.rows[i], &v->handlers.v[i]);
	metrics_end(&o);
	free(v);
	*t = o.t;
}

/* --- the page --------------------------------------------------------------------------------- */

static void metrics_start(struct h2d_req *req, void *state)
{
	static const char *const types[] = {
		[METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
		[METRICS_OPEN] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
	};
	struct admin *admin = req->env->admin;
	const struct metrics_facts facts = {
		.routes = req->env->conf.routes,
		.sites = req->env->sites,
		.keeper_ticks = admin->image_fresh(admin),
	};
	/* Without a preference the older form, which all scrapers read. */
	bool open =
		accept_weight(req->fields, req->nfields, SLICE("application/openmetrics-text")) >
		accept_weight(req->fields, req->nfields, SLICE("text/plain"));
	enum metrics_form form = open ? METRICS_OPEN : METRICS_TEXT;
	struct strbuf t = { 0 };

	(void)state;
	metrics_text(admin->board, &facts, form, &t);
	reply_vary(req, SLICE("accept"));
	admin_reply(req, types[form], &t);
}

const struct h2d_handler h2d_handler_metrics = {
	.name = "metrics",
	.scope = H2D_ON_ADMIN,
	.start = metrics_start,
};
