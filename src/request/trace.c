/*
 * trace: keeps the steps of a request in its arena, and writes them as a line of the log. Called by
 * the request core and by files/, for traced requests only. It changes only the request's trace.
 */
#include "request/trace.h"

#include <stdio.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "request/req_client.h"
#include "share/access.h"

enum {
	STEP_MAX = 1000, /* bytes of one step's text */
	TARGET_MAX = 200,
};

const char *const trace_names[TRACES] = {
#define TRACE(name, text) text,
#include "request/trace.def"
};

void trace_step(
	struct h2d_req *req, enum trace_kind kind, const struct conf_pos *at, const char *fmt, ...)
{
	struct trace_step *step;
	char text[STEP_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* A location checked twice, for a file and its directory, has the same step twice. */
	if (req->trace_last != NULL && req->trace_last->kind == kind &&
		slice_eq(req->trace_last->text, slice_str(text)))
		return;
	step = arena_zalloc(&req->arena, sizeof(*step));
	/* Without memory the request fails soon enough. */
	if (step == NULL)
		return;
	step->kind = kind;
	if (at != NULL)
		step->at = *at;
	step->text = arena_dup(&req->arena, slice_str(text));
	if (req->trace_last != NULL)
		req->trace_last->next = step;
	else
		req->trace = step;
	req->trace_last = step;
}

/* --- names and paths -------------------------------------------------------------------------- */

static void trace_server(struct h2d_req *req)
{
	const struct site_name *name = sites_name(req->env->sites, req->authority);
	const struct conf_pos *at = TRACE_AT(&req->site->all, block);

	if (req->conn->admin)
		trace_step(req, TRACE_SERVER, NULL, "none: an admin listener has none");
	else if (name == NULL)
		trace_step(req, TRACE_SERVER, at, "\"%.*s\", the default: no block has this name",
			SLICE_ARG(req->site->name));
	else if (name->name.p[0] == '*')
		trace_step(req, TRACE_SERVER, at, "\"%.*s\", by its wildcard \"%.*s\"",
			SLICE_ARG(req->site->name), SLICE_ARG(name->name));
	else
		trace_step(req, TRACE_SERVER, at, "\"%.*s\", by its name \"%.*s\"",
			SLICE_ARG(req->site->name), SLICE_ARG(name->name));
}

void trace_location(struct h2d_req *req)
{
	const struct location *location = req->location;

	if (location == &req->site->all)
		trace_step(req, TRACE_LOCATION, NULL, "none: the server's own settings");
	else
		trace_step(req, TRACE_LOCATION, TRACE_AT(location, block), "\"%.*s\"",
			SLICE_ARG(location->prefix));
}

void trace_site(struct h2d_req *req)
{
	trace_server(req);
	if (req->path.p == NULL || req->conn->admin)
		return;
	if (!slice_eq(req->path, req->target))
		trace_step(req, TRACE_PATH, NULL, "%.*s", SLICE_ARG(req->path));
	trace_location(req);
}

void trace_handler(struct h2d_req *req, const struct h2d_handler *handler)
{
	const struct route *route = req->match.route;

	if (route != NULL)
		trace_step(req, TRACE_ROUTE, NULL, "%s %s: handler %s", method_name(route->method),
			route->pattern, handler->name);
	else if (handler == req->env->conf.fallback)
		trace_step(req, TRACE_ROUTE, NULL, "none: the document root answers");
}

void trace_found(struct h2d_req *req, unsigned root, struct slice name, const char *from)
{
	trace_step(req, TRACE_FILE, TRACE_AT(req->location, root), "\"%.*s\": %s", SLICE_ARG(name),
		from);
	if (req->trace_last == NULL)
		return;
	req->trace_last->found = name;
	req->trace_last->root = root;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* The client's address is hidden or malformed; location has rules. */
static void trace_unknown(struct h2d_req *req, const struct location *location, bool any_allowed)
{
	trace_step(req, TRACE_DENY,
		any_allowed ? TRACE_AT(location, allow) : TRACE_AT(location, deny),
		"\"%.*s\" has rules, and the client is %s: refused", SLICE_ARG(location->prefix),
		ADDR_HOST(req_client(req)));
}

void trace_access(struct h2d_req *req, const struct location *location)
{
	const struct access_rule *rule;
	bool any_allowed;
	const char *peer = ADDR_HOST(req_client(req));
	struct slice of = location->prefix;

	if (location->access == NULL)
		return;
	rule = access_rule_of(location->access, req_client(req), &any_allowed);
	if (!access_knows(req_client(req)))
		trace_unknown(req, location, any_allowed);
	else if (rule == NULL)
		trace_step(req, TRACE_ALLOW,
			any_allowed ? TRACE_AT(location, allow) : TRACE_AT(location, deny),
			"no rule of \"%.*s\" holds for %s: %s", SLICE_ARG(of), peer,
			any_allowed ? "refused, for others are allowed" : "let in");
	else if (rule->allow)
		trace_step(req, TRACE_ALLOW, TRACE_AT(location, allow),
			"\"%s\" of \"%.*s\" holds for %s: let in", rule->text, SLICE_ARG(of), peer);
	else
		trace_step(req, TRACE_DENY, TRACE_AT(location, deny),
			"\"%s\" of \"%.*s\" holds for %s: refused", rule->text, SLICE_ARG(of),
			peer);
}

void trace_subject(struct h2d_req *req, const struct location *location, bool known)
{
	const char *subject = req->conn->client_subject;

	if (location->subjects == NULL)
		return;
	trace_step(req, TRACE_SUBJECT, TRACE_AT(location, subjects), "%s \"%.*s\" %s %s: %s",
		known ? "a rule of" : "no rule of", SLICE_ARG(location->prefix),
		subject != NULL ? "fits" : "holds for", subject != NULL ? subject : "nobody",
		known ? "let in" : "refused");
}

/* --- the log ---------------------------------------------------------------------------------- */

static void add_step(struct strbuf *out, const struct trace_step *step)
{
	strbuf_printf(out, "; %s %.*s", trace_names[step->kind], SLICE_ARG(step->text));
	if (step->at.file != NULL)
		strbuf_printf(out, step->at.line > 0 ? " (%s:%u)" : " (%s)", step->at.file,
			step->at.line);
}

void trace_log(const struct h2d_req *req)
{
	struct strbuf out = { 0 };
	size_t n = req->target.n < TARGET_MAX ? req->target.n : TARGET_MAX;

	for (const struct trace_step *s = req->trace; s != NULL; s = s->next)
		add_step(&out, s);
	log_debug("request from %s: %.*s %.*s%s%.*s; status %d", ADDR_HOST(req_client(req)),
		SLICE_ARG(req->method_text), (int)n, req->target.p, n < req->target.n ? "..." : "",
		SLICE_ARG(slice_of(out.p, out.n)), req->reply.status);
	strbuf_fini(&out);
}
