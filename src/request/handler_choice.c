/*
 * handler_choice: asks the route table, then falls back on files. It changes only the request's
 * match and, if it answers, its reply.
 */
#include "request/handler_choice.h"

#include "base/log.h"
#include "http/path.h"
#include "request/handler_call.h"
#include "request/req_client.h"
#include "request/trace.h"

enum { FILE_METHODS = 1u << H2D_GET | 1u << H2D_HEAD };

static void allow(struct h2d_req *req, unsigned methods)
{
	char list[METHOD_LIST];
	struct slice own;

	methods &= ~req->location->refused_methods;
	method_list(methods | 1u << H2D_OPTIONS, list);
	own = arena_dup(&req->arena, slice_str(list));
	if (own.p != NULL)
		reply_add(req, SLICE("allow"), own);
}

/* RFC 9110, 9.3.7. */
static void reply_options(struct h2d_req *req, unsigned methods)
{
	allow(req, methods);
	/* RFC 4918, 10.1. */
	if (req->location->upload != NULL && req->location->webdav)
		reply_add(req, SLICE("dav"), SLICE("1"));
	reply_bytes(req, 204, NULL, (struct slice){ 0 });
}

static enum h2d_scope listener_scope(const struct h2d_req *req)
{
	if (req->conn->admin)
		return H2D_ON_ADMIN;
	if (req->location->upload == NULL)
		return H2D_ON_PUBLIC;
	if (req->location->webdav)
		return H2D_ON_DRIVES;
	return req->site->upload_depth > 0 ? H2D_ON_FOLDERS : H2D_ON_UPLOADS;
}

/* The path below that of its location's upload-dir, "" or "/…"; p NULL: it is none of these. The
 * server's upload-dir has routes of its own. */
static struct slice below_upload(const struct h2d_req *req)
{
	const struct site_upload *u = req->location->upload;
	struct slice path = req->path;

	if (u == NULL || slice_eq(u->url, SLICE(SITE_UPLOADS_AT)) || !slice_starts(path, u->url) ||
		(path.n > u->url.n && path.p[u->url.n] != '/'))
		return (struct slice){ 0 };
	return slice_of(path.p + u->url.n, path.n - u->url.n);
}

/* The directory itself: the document root has its listing. */
static bool is_upload_folder(struct slice below)
{
	return below.p != NULL && below.n <= 1;
}

/* Finds the route; the paths of a location's uploads have those of /files. */
static enum route_result find(struct h2d_req *req, enum h2d_method method)
{
	struct slice path = req->path, below = below_upload(req);

	if (is_upload_folder(below) && (FILE_METHODS >> method & 1))
		return ROUTE_NONE;
	if (below.p != NULL)
		path = arena_join(&req->arena, SLICE(SITE_UPLOADS_AT),
			slice_of(below.p, below.n > 1 ? below.n : 0));
	return route_find(req->env->conf.routes, listener_scope(req), method, path, &req->match);
}

static unsigned match_methods(const struct h2d_req *req)
{
	unsigned folder = is_upload_folder(below_upload(req)) ? FILE_METHODS : 0;

	return folder |
	       route_match_methods(req->env->conf.routes, listener_scope(req), &req->match);
}

void h2d_reply_options(struct h2d_req *req)
{
	HANDLER_CALL();
	if (HANDLER_MAY(req, ONCE))
		reply_options(req, match_methods(req));
}

/* The method is not among methods. */
static const struct h2d_handler *other_method(struct h2d_req *req, unsigned methods)
{
	if (req->method == H2D_OPTIONS) {
		reply_options(req, methods);
		return NULL;
	}
	TRACE_STEP(req, METHOD, NULL, "%.*s is not allowed for this path",
		SLICE_ARG(req->method_text));
	allow(req, methods);
	reply_error(req, 405);
	return NULL;
}

void handler_choice_refuse(struct h2d_req *req, unsigned refused)
{
	enum h2d_method method = is_upload_folder(below_upload(req)) ? H2D_OPTIONS : req->method;
	unsigned methods = find(req, method) == ROUTE_NONE ? FILE_METHODS : match_methods(req);

	allow(req, methods & ~refused);
	reply_error(req, 405);
}

/* Uploads do not go to their directory by its own name. */
static void tell_place(struct h2d_req *req, const struct site_upload *u)
{
	const char *text = arena_printf(&req->arena,
		"405 Method Not Allowed: uploads go to %.*s (POST) and %.*s/NAME (PUT, DELETE)\n",
		SLICE_ARG(u->form), SLICE_ARG(u->url));

	TRACE_STEP(req, METHOD, NULL, "%.*s is not allowed for this path: uploads go to %.*s/",
		SLICE_ARG(req->method_text), SLICE_ARG(u->url));
	log_peer(LEVEL_INFO, "connection %s: %.*s %.*s: uploads go to %.*s/",
		ADDR_HOST(req_client(req)), SLICE_ARG(req->method_text), SLICE_ARG(req->target),
		SLICE_ARG(u->url));
	allow(req, FILE_METHODS);
	reply_bytes(req, 405, "text/plain; charset=utf-8", slice_str(text));
}

/* The document root's handler checks its methods itself. */
static const struct h2d_handler *files(struct h2d_req *req, enum h2d_scope here)
{
	const struct h2d_handler *handler = req->env->conf.fallback;
	unsigned writes = 1u << H2D_PUT | 1u << H2D_POST | 1u << H2D_DELETE | 1u << H2D_PATCH;
	const struct site_upload *u =
		writes >> req->method & 1 ? site_upload_of(req->site, req->path) : NULL;

	if (u != NULL) {
		tell_place(req, u);
		return NULL;
	}
	if (handler != NULL && !route_is_here(handler, here)) {
		reply_error(req, 404);
		return NULL;
	}
	return req->method == H2D_OPTIONS ? other_method(req, FILE_METHODS) : handler;
}

/* The place of the first encoded slash; s.n: there is none. */
static size_t encoded_slash(struct slice s)
{
	size_t n = 0;

	while (n < s.n && (s.n - n < 3 || strncasecmp(s.p + n, "%2f", 3) != 0))
		n++;
	return n;
}

/* The application gets it only if no file answers. */
static bool files_first(const struct h2d_req *req)
{
	struct slice path = slice_of(req->target.p, req->target.n - req->query.n);

	return req->location->proxy->files_first && FILE_METHODS >> req->method & 1 &&
	       !req->has_body && req->upgrade.n == 0 && req->site->has_root &&
	       encoded_slash(path) == path.n && !path_hidden(req->path);
}

const struct h2d_handler *handler_choice(struct h2d_req *req, enum h2d_body *body)
{
	enum h2d_scope here = listener_scope(req);

	*body = H2D_BODY_NONE;
	/* On public listeners: admin ones have a route for it. */
	if (site_is_health(req->site, req->path)) {
		TRACE_STEP(req, HEALTH, &req->site->health_at, "answers this path");
		return FILE_METHODS >> req->method & 1 ? req->env->conf.health
						       : other_method(req, FILE_METHODS);
	}
	switch (find(req, req->method)) {
	case ROUTE_METHOD:
		return other_method(req, match_methods(req));
	case ROUTE_FOUND:
		*body = req->match.route->body;
		return req->match.route->handler;
	default:
		if (req->location->proxy == NULL || files_first(req))
			return files(req, here);
		*body = H2D_BODY_STREAM;
		return req->env->conf.proxy;
	}
}

bool handler_choice_has_websocket(struct h2d_req *req)
{
	if (req->location->proxy != NULL && find(req, H2D_GET) == ROUTE_NONE)
		return true;
	return find(req, H2D_GET) == ROUTE_FOUND && req->match.route->handler->websocket != NULL;
}

void handler_choice_any(struct h2d_req *req)
{
	enum h2d_scope here = listener_scope(req);

	if (here == H2D_ON_PUBLIC && req->site->nuploads > 0)
		here = H2D_ON_UPLOADS;
	for (unsigned i = 0; here != H2D_ON_ADMIN && i < req->site->nlocations; i++)
		if (req->site->locations[i].upload != NULL && req->site->locations[i].webdav)
			here = H2D_ON_DRIVES;
	reply_options(req, FILE_METHODS | route_methods(req->env->conf.routes, here));
}

/* --- an encoded slash ------------------------------------------------------------------------- */

/* The directory of the segment with the first encoded slash. No segment was removed, so it is the
 * beginning of the path: an escape of the target is one byte of it. */
static struct slice folder(const struct h2d_req *req)
{
	struct slice t = req->target;
	size_t n = encoded_slash(t), escapes = 0;

	while (n > 0 && t.p[n - 1] != '/')
		n--;
	for (size_t i = 0; i < n; i++)
		escapes += t.p[i] == '%';
	return slice_of(req->path.p, n - 2 * escapes);
}

static bool is_file(const struct h2d_req *req)
{
	struct route_match match;

	return !site_is_health(req->site, req->path) && below_upload(req).p == NULL &&
	       route_find(req->env->conf.routes, listener_scope(req), H2D_GET, req->path, &match) ==
		       ROUTE_NONE;
}

__attribute__((noinline)) bool handler_choice_despite_slash(const struct h2d_req *req)
{
	if (site_location(req->site, req->path)->proxy != NULL)
		return !req->conn->admin && is_file(req);
	if (req->method != H2D_GET && req->method != H2D_HEAD)
		return false;
	return !req->conn->admin && !req->conn->trusted && !req->site->guarded && is_file(req) &&
	       site_location(req->site, folder(req)) == site_location(req->site, req->path);
}
