/*
 * ask: the head of the request to an application (RFC 9112, 3 and 5): the client's, without the
 * headers of its connection, and without those by which it could pretend to be another.
 */
#include <stdio.h>

#include "http/base64.h"
#include "http/path.h"
#include "request/req_client.h"
#include "request/req_field.h"
#include "request/req_id.h"
#include "upstream/exchange.h"

enum { ASK_OWN = 1024 }; /* bytes of h2d's own headers, without the client's bytes in them */

static char *put(char *at, struct slice s)
{
	return (char *)mempcpy(at, s.p, s.n);
}

static char *put_field(char *at, struct slice name, struct slice value)
{
	at = put(at, name);
	at = put(at, SLICE(": "));
	at = put(at, value);
	return put(at, SLICE("\r\n"));
}

/* --- the target ------------------------------------------------------------------------------- */

/*
 * Decodes path as an application may: strictly, an encoded slash does not separate segments;
 * loosely, it does, and so does a backslash (the WHATWG's URLs), and a segment ends at its
 * parameters (";", Java's servlets).
 */
static struct slice reading(struct slice path, bool loose, struct arena *a)
{
	char *p = arena_alloc(a, path.n + 1), *at = p;
	bool skips = false;

	for (size_t i = 0; p != NULL && i < path.n; i++) {
		int c = path.p[i] == '%' ? path_escape_byte(path, i) : -1;
		bool keeps = c < 0 || (c == '/' && !loose);
		char byte = keeps ? path.p[i] : (char)c;

		i += keeps ? 0 : 2;
		if (loose && byte == '\\')
			byte = '/';
		skips = loose && byte != '/' && (skips || byte == ';');
		if (!skips)
			*at++ = byte;
	}
	return slice_of(p, p != NULL ? (size_t)(at - p) : 0);
}

static bool has_dots(struct slice path)
{
	struct slice segment;
	bool more;

	do {
		more = slice_cut(&path, '/', &segment);
		if (slice_eq(segment, SLICE(".")) || slice_eq(segment, SLICE("..")))
			return true;
	} while (more);
	return false;
}

/* Two slashes at the beginning: a host follows, to those who read a reference (RFC 3986, 4.2). */
static bool names_host(const struct site_proxy *proxy, struct slice path)
{
	size_t at = proxy->prefix.n > 0 ? proxy->replaced.n : 1;

	return path.n > at && path.p[at - 1] == '/' && path.p[at] == '/';
}

bool ask_may_pass(const struct h2d_req *req)
{
	const struct site_proxy *proxy = req->location->proxy;
	struct arena *a = (struct arena *)(uintptr_t)&req->arena;
	struct slice t = req->target, path, strict, loose;
	const char *query = memchr(t.p, '?', t.n);

	if (proxy->prefix.n > 0 && !slice_starts(t, proxy->replaced))
		return false;
	path = slice_of(t.p, query != NULL ? (size_t)(query - t.p) : t.n);
	if (slice_eq(path, req->path) && memchr(path.p, ';', path.n) == NULL &&
		memchr(path.p, '\\', path.n) == NULL)
		return true;
	strict = reading(path, false, a);
	loose = reading(path, true, a);
	return strict.p != NULL && loose.p != NULL && !has_dots(strict) && !has_dots(loose) &&
	       !names_host(proxy, loose) && site_location(req->site, strict) == req->location &&
	       site_location(req->site, loose) == req->location;
}

static char *put_target(char *at, const struct exchange *x)
{
	struct slice t = x->req->target;

	if (x->proxy->prefix.n > 0) {
		at = put(at, x->proxy->prefix);
		slice_skip(&t, x->proxy->replaced.n);
	}
	return put(at, t);
}

/* --- headers ---------------------------------------------------------------------------------- */

/* True for headers of one connection (RFC 9110, 7.6.1), and for those that are made here. */
static bool is_dropped(struct slice name)
{
	return field_is_hop(name) || slice_eq(name, SLICE("expect")) ||
	       slice_eq(name, SLICE("host")) || slice_eq(name, SLICE("http2-settings")) ||
	       slice_eq(name, SLICE("x-forwarded-for")) || slice_eq(name, SLICE("x-real-ip"));
}

/* True for headers that only a trusted proxy may set. */
static bool is_trusted(struct slice name)
{
	return slice_eq(name, SLICE("forwarded")) || slice_eq(name, SLICE("proxy")) ||
	       slice_eq(name, SLICE("x-original-url")) || slice_eq(name, SLICE("x-rewrite-url")) ||
	       slice_starts(name, SLICE("x-forwarded-"));
}

static bool is_named(const struct h2d_req *req, struct slice name)
{
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (slice_eq(f->name, SLICE("connection")) && field_list_has(f->value, name))
			return true;
	return false;
}

/* An underscore is a hyphen to many applications, which would take such a header for h2d's own. */
bool ask_passes(const struct exchange *x, const struct field *f, bool names)
{
	const struct h2d_req *req = x->req;

	return !is_dropped(f->name) && (req->conn->trusted || !is_trusted(f->name)) &&
	       memchr(f->name.p, '_', f->name.n) == NULL &&
	       !slice_eq(f->name, x->proxy->subject_header) &&
	       !(req->env->conf.request_ids && slice_eq(f->name, req_id_field)) &&
	       !(names && !is_trusted(f->name) && is_named(req, f->name));
}

static bool has(const struct h2d_req *req, struct slice name)
{
	return req->conn->trusted && field_find(req->fields, req->nfields, name) != NULL;
}

/* The addresses that trusted proxies have told, and the peer's. */
static char *put_client(char *at, const struct h2d_req *req)
{
	struct slice name = SLICE("x-forwarded-for"), list = { 0 };
	const char *separator = "";
	char *line = at;

	at = put(put(at, name), SLICE(": "));
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (req->conn->trusted && slice_eq(f->name, name)) {
			at += sprintf(at, "%s%.*s", separator, SLICE_ARG(f->value));
			separator = ", ";
			list = f->value;
		}
	if (req->conn->peer.sa.sa_family != AF_UNIX)
		at += sprintf(at, "%s%s", separator, ADDR_HOST(&req->conn->peer));
	else if (list.n == 0)
		return line;
	at = put(at, SLICE("\r\n"));
	if (req_client(req)->sa.sa_family == AF_INET || req_client(req)->sa.sa_family == AF_INET6)
		at += sprintf(at, "x-real-ip: %s\r\n", ADDR_HOST(req_client(req)));
	return at;
}

static char *put_body(char *at, const struct exchange *x)
{
	const struct h2d_req *req = x->req;

	if (x->chunked)
		at = put(at, SLICE("transfer-encoding: chunked\r\n"));
	else if (req->has_body && req->upgrade.n == 0)
		at += sprintf(at, "content-length: %llu\r\n", (unsigned long long)req->body_length);
	else if (field_find(req->fields, req->nfields, SLICE("content-length")) != NULL)
		at = put(at, SLICE("content-length: 0\r\n"));
	if (x->expects)
		at = put(at, SLICE("expect: 100-continue\r\n"));
	if (req->upgrade.n > 0)
		at = put_field(
			put(at, SLICE("connection: upgrade\r\n")), SLICE("upgrade"), req->upgrade);
	return at;
}

/* RFC 6455, 4.1: a client of extended CONNECT has sent no key, and no peer of HTTP/1.1 does
 * without. */
static char *put_key(char *at, struct h2d_req *req)
{
	struct slice id;

	if (!slice_eq(req->method_text, SLICE("CONNECT")) || (id = req_id(req)).n < 16)
		return at;
	at = put(at, SLICE("sec-websocket-key: "));
	base64_encode(id.p, 16, at);
	return put(at + BASE64_ENCODED(16), SLICE("\r\n"));
}

static size_t ask_size(const struct exchange *x)
{
	const struct h2d_req *req = x->req;
	size_t n = ASK_OWN + req->method_text.n + req->target.n + req->upgrade.n +
		   x->proxy->prefix.n + x->proxy->host.n + 2 * req->authority.n +
		   x->proxy->subject_header.n +
		   (req->conn->client_subject != NULL ? strlen(req->conn->client_subject) : 0);

	for (unsigned i = 0; i < req->nfields; i++)
		n += req->fields[i].name.n + req->fields[i].value.n + 4;
	return n;
}

struct slice ask_head(const struct exchange *x)
{
	struct h2d_req *req = x->req;
	const char *subject = req->conn->client_subject;
	bool names = field_find(req->fields, req->nfields, SLICE("connection")) != NULL;
	size_t size;
	char *p, *at;

	if (req->ncookies > 1 && req_field_join_cookies(req) < 0)
		return (struct slice){ 0 };
	size = ask_size(x);
	p = at = arena_alloc(&req->arena, size);
	if (p == NULL)
		return (struct slice){ 0 };
	at = put(
		at, slice_eq(req->method_text, SLICE("CONNECT")) ? SLICE("GET") : req->method_text);
	at = put(at, SLICE(" "));
	at = put_target(at, x);
	at = put_field(put(at, SLICE(" HTTP/1.1\r\n")), SLICE("host"),
		x->proxy->host.n > 0 ? x->proxy->host : req->authority);
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (ask_passes(x, f, names))
			at = put_field(at, f->name, f->value);
	at = put_client(at, req);
	if (!has(req, SLICE("x-forwarded-proto")))
		at = put_field(at, SLICE("x-forwarded-proto"),
			req_client_https(req) ? SLICE("https") : SLICE("http"));
	if (!has(req, SLICE("x-forwarded-host")) && req->authority.n > 0)
		at = put_field(at, SLICE("x-forwarded-host"), req->authority);
	if (x->proxy->subject_header.n > 0 && subject != NULL)
		at = put_field(at, x->proxy->subject_header, slice_str(subject));
	if (req_id_shown(req).n > 0)
		at = put_field(at, req_id_field, req_id(req));
	at = put_key(at, req);
	at = put_body(at, x);
	at += sprintf(at, "via: %s h2d\r\n\r\n", req->protocol.p + strlen("HTTP/"));
	H2D_ASSERT((size_t)(at - p) < size);
	return slice_of(p, (size_t)(at - p));
}
