/*
 * handler_log: lines that handlers write, by the server's levels and bounds. Each format is at each
 * level a kind of lines (log_peer()) of its own, as far as there is room for it. Called by
 * handlers.
 */
#include "api/handler_worker.h"

#include <stdio.h>

enum { KINDS = 256, TEXT_MAX = 1000, TARGET_SHOWN = 256 };

/* The last one is that of all formats for which there is no room. */
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

static void say_of(
	const struct h2d_req *req, struct log_kind *kind, enum log_level level, const char *text)
{
	struct slice route = req_record_route_name(req->env->conf.routes, req->record.route);
	struct slice target = req->target;

	if (target.n > TARGET_SHOWN)
		target.n = TARGET_SHOWN;
	log_limited(kind, level, "handler %s, route %.*s: %s: %.*s %.*s", handler_rule_name(req),
		SLICE_ARG(route), text, SLICE_ARG(req->method_text), SLICE_ARG(target));
}

/* req: NULL where it is of the worker alone. */
__attribute__((format(printf, 4, 0))) static void say(const struct h2d_req *req,
	const char *handler, enum h2d_level level, const char *fmt, va_list args)
{
	char text[TEXT_MAX + 1];

	H2D_ASSERT((size_t)level < sizeof(levels) / sizeof(levels[0]));
	if (levels[level] > log_max)
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	if (req != NULL)
		say_of(req, kind_of(fmt, level), levels[level], text);
	else
		log_limited(kind_of(fmt, level), levels[level], "handler %s: %s", handler, text);
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
