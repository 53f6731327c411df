/*
 * handler_operator: an administrator's side of a handler: values of its keys, out of the section
 * handler "NAME" of the configuration, its log lines, by the server's levels and bounds, and its
 * counters and histograms (base/handler_counts.h). Called by handlers. Keys are read by a call in
 * struct api, for this layer does not know the configuration.
 */
#include "api/handler_worker.h"

#include <stdio.h>

#include "base/handler_counts.h"

enum { KINDS = 256, TEXT_MAX = 1000, TARGET_SHOWN = 256 };

/* --- keys ------------------------------------------------------------------------------------- */

static const char *const key_kinds[] = {
	[KEY_NONE] = "nothing",
	[KEY_STRING] = "a string",
	[KEY_NUMBER] = "a number",
	[KEY_BOOL] = "true or false",
	[KEY_LIST] = "a list",
};

static _Noreturn void handler_conf_refuse(const struct h2d_worker *w, const char *key,
	enum key_kind wanted, const struct key_value *v, const char *call)
{
	char text[TEXT_MAX];

	if (v->kind == KEY_NONE)
		snprintf(text, sizeof(text),
			"handler %s: conf.def has no key \"%.64s\" for %s (%s)", w->handler->name,
			key, handler_worker_section(w), call);
	else
		snprintf(text, sizeof(text), "handler %s read %s, but its key \"%.64s\" is %s (%s)",
			w->handler->name, key_kinds[wanted], key, key_kinds[v->kind], call);
	assert_end(text);
}

static struct key_value value(
	const struct h2d_worker *w, const char *key, enum key_kind wanted, const char *call)
{
	const struct http_env *env = w->env;
	struct key_value v = { .kind = KEY_NONE };

	if (env->api->key_value != NULL)
		v = env->api->key_value(env->api->conf, handler_worker_section(w), key);
	if (v.kind != wanted)
		handler_conf_refuse(w, key, wanted, &v, call);
	return v;
}

const char *h2d_conf_string(const struct h2d_worker *worker, const char *key)
{
	HANDLER_CALL();
	return value(worker, key, KEY_STRING, __func__).string;
}

uint64_t h2d_conf_number(const struct h2d_worker *worker, const char *key)
{
	HANDLER_CALL();
	return value(worker, key, KEY_NUMBER, __func__).number;
}

bool h2d_conf_bool(const struct h2d_worker *worker, const char *key)
{
	HANDLER_CALL();
	return value(worker, key, KEY_BOOL, __func__).truth;
}

const char *h2d_conf_item(const struct h2d_worker *worker, const char *key, unsigned i)
{
	struct key_value v;

	HANDLER_CALL();
	v = value(worker, key, KEY_LIST, __func__);
	return i < v.n ? v.items[i] : NULL;
}

/* --- log lines -------------------------------------------------------------------------------- */

/* Lines of one format and level are a kind (log_peer()). The last kind is that of all formats for
 * which there is no room. */
static struct {
	const char *fmt; /* NULL: free */
	enum h2d_level level;
	struct log_kind kind;
} kinds[KINDS];

static const enum log_level levels[] = {
	[H2D_LOG_ERROR] = LEVEL_ERROR,
	[H2D_LOG_WARN] = LEVEL_WARN,
	[H2D_LOG_NOTICE] = LEVEL_NOTICE,
	[H2D_LOG_INFO] = LEVEL_INFO,
	[H2D_LOG_DEBUG] = LEVEL_DEBUG,
};

static struct log_kind *kind_of(const char *fmt, enum h2d_level level)
{
	unsigned i = 0;

	while (i < KINDS - 1 && kinds[i].fmt != NULL &&
		(kinds[i].fmt != fmt || kinds[i].level != level))
		i++;
	kinds[i].fmt = fmt;
	kinds[i].level = level;
	return &kinds[i].kind;
}

/* req: NULL for a line of the worker alone. */
__attribute__((format(printf, 4, 0))) static void say(const struct h2d_req *req,
	const char *handler, enum h2d_level level, const char *fmt, va_list args)
{
	char text[TEXT_MAX + 1];
	struct slice route;

	H2D_ASSERT((size_t)level < sizeof(levels) / sizeof(levels[0]));
	if (levels[level] > log_max)
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	if (req != NULL) {
		route = req_record_route_name(req->env->conf.routes, req->record.route);
		log_limited(kind_of(fmt, level), levels[level],
			"handler %s, route %.*s: %s: %.*s %.*s", handler_rule_name(req),
			SLICE_ARG(route), text, SLICE_ARG(req->method_text),
			req->target.n < TARGET_SHOWN ? (int)req->target.n : TARGET_SHOWN,
			req->target.p);
	} else {
		log_limited(kind_of(fmt, level), levels[level], "handler %s: %s", handler, text);
	}
}

void h2d_log(struct h2d_req *req, enum h2d_level level, const char *fmt, ...)
{
	va_list args;

	HANDLER_CALL();
	va_start(args, fmt);
	say(req, NULL, level, fmt, args);
	va_end(args);
}

void h2d_worker_log(struct h2d_worker *worker, enum h2d_level level, const char *fmt, ...)
{
	va_list args;

	HANDLER_CALL();
	va_start(args, fmt);
	say(NULL, worker->handler->name, level, fmt, args);
	va_end(args);
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* The row, which must be the handler's and of that kind. */
static const struct handler_metric *row_of(
	const struct h2d_worker *w, const char *name, bool histogram, const char *call)
{
	const struct handler_metric *row = handler_counts_row(handler_worker_section(w), name);
	char text[TEXT_MAX];

	if (row != NULL && (row->bounds != NULL) == histogram)
		return row;
	snprintf(text, sizeof(text), "handler %s: metrics.def has no %s \"%.64s\" for %s (%s)",
		w->handler->name, histogram ? "histogram" : "counter", name,
		handler_worker_section(w), call);
	assert_end(text);
}

void h2d_count(struct h2d_worker *worker, const char *name, uint64_t n)
{
	HANDLER_CALL();
	handler_counts_count(row_of(worker, name, false, __func__), (double)n);
}

void h2d_observe(struct h2d_worker *worker, const char *name, double value)
{
	HANDLER_CALL();
	handler_counts_observe(row_of(worker, name, true, __func__), value);
}
