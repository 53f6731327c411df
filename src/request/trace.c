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
		trace_step(req, TRACE_SERVER, NULL, "none: admin listeners have no servers");
	else if (name == NULL)
		trace_step(req, TRACE_SERVER, at,
			"\"%.*s\" answers by default: no server has this host name",
			SLICE_ARG(req->site->name));
	else if (name->name.p[0] == '*')
		trace_step(req, TRACE_SERVER, at,
			"\"%.*s\" answers: \"%.*s\" matches the host name",
			SLICE_ARG(req->site->name), SLICE_ARG(name->name));
	else
		trace_step(req, TRACE_SERVER, at, "\"%.*s\" answers: the host name is \"%.*s\"",
			SLICE_ARG(req->site->name), SLICE_ARG(name->name));
}

void trace_location(struct h2d_req *req)
{
	const struct location *location = req->location;

	if (location == &req->site->all)
		trace_step(req, TRACE_LOCATION, NULL, "none: the settings of the server apply");
	else
		trace_step(req, TRACE_LOCATION, TRACE_AT(location, block), "\"%.*s\" applies",
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

static void trace_proxy(struct h2d_req *req)
{
	const struct site_proxy *p = req->location->proxy;
	struct strbuf names = { 0 };

	for (unsigned i = 0; i < p->npeers; i++)
		strbuf_printf(&names, "%s%.*s", i > 0 ? ", " : "",
			SLICE_ARG(req->env->sites->peers[p->peers[i]].name));
	if (p->prefix.n > 0)
		strbuf_printf(&names, ", with \"%.*s\" instead of \"%.*s\"", SLICE_ARG(p->prefix),
			SLICE_ARG(p->replaced));
	trace_step(req, TRACE_PROXY, TRACE_AT(req->location, proxy),
		"goes to the application at %.*s", (int)names.n, names.p);
	strbuf_fini(&names);
}

void trace_handler(struct h2d_req *req, const struct h2d_handler *handler)
{
	const struct route *route = req->match.route;

	if (route != NULL)
		trace_step(req, TRACE_ROUTE, NULL, "%s %s: handler %s", method_name(route->method),
			route->pattern, handler->name);
	else if (handler == req->env->conf.fallback)
		trace_step(req, TRACE_ROUTE, NULL, "none: h2d looks for a file");
	else if (handler == req->env->conf.proxy)
		trace_proxy(req);
}

void trace_found(struct h2d_req *req, unsigned root, struct slice name, const char *from)
{
	trace_step(req, TRACE_FILE, TRACE_AT(req->location, root), "\"%.*s\" answers from the %s",
		SLICE_ARG(name), from);
	if (req->trace_last == NULL)
		return;
	req->trace_last->found = name;
	req->trace_last->root = root;
}

/* --- addresses -------------------------------------------------------------------------------- */

void trace_access(struct h2d_req *req, const struct location *location)
{
	const struct addr *client = req_client(req);
	const struct access_rule *rule;
	bool by_allow;

	if (location->access == NULL)
		return;
	/* Without a matching range, allow refuses the client, or deny admits it. */
	rule = access_rule_of(location->access, client, &by_allow);
	if (rule != NULL && access_knows(client))
		by_allow = rule->allow;
	trace_step(req, by_allow ? TRACE_ALLOW : TRACE_DENY,
		by_allow ? TRACE_AT(location, allow) : TRACE_AT(location, deny),
		!access_knows(client) ? "%s a client of %s address in \"%.*s\""
		: rule == NULL        ? "%s %s in \"%.*s\": no range matches"
				      : "%s %s in \"%.*s\": \"%s\" matches",
		access_allows(location->access, client) ? "admits" : "refuses", ADDR_HOST(client),
		SLICE_ARG(location->prefix), rule != NULL ? rule->text : "");
}

void trace_subject(struct h2d_req *req, const struct location *location, bool known)
{
	const char *subject = req->conn->client_subject;

	if (location->subjects == NULL)
		return;
	trace_step(req, TRACE_SUBJECT, TRACE_AT(location, subjects), "%s %s in \"%.*s\"%s",
		known ? "admits" : "refuses", subject != NULL ? subject : "the client",
		SLICE_ARG(location->prefix), subject == NULL ? ": it has no certificate" : "");
}

/* --- the log ---------------------------------------------------------------------------------- */

void trace_log(const struct h2d_req *req)
{
	struct strbuf out = { 0 };
	size_t n = req->target.n < TARGET_MAX ? req->target.n : TARGET_MAX;

	for (const struct trace_step *s = req->trace; s != NULL; s = s->next) {
		strbuf_printf(&out, "; %s %.*s", trace_names[s->kind], SLICE_ARG(s->text));
		if (s->at.file != NULL)
			strbuf_printf(&out, s->at.line > 0 ? " (%s:%u)" : " (%s)", s->at.file,
				s->at.line);
	}
	log_debug("request from %s: %.*s %.*s%s%.*s; status %d", ADDR_HOST(req_client(req)),
		SLICE_ARG(req->method_text), (int)n, req->target.p, n < req->target.n ? "..." : "",
		SLICE_ARG(slice_of(out.p, out.n)), req->reply.status);
	strbuf_fini(&out);
}
