/*
 * ask: the head of the request to an application (RFC 9112, 3 and 5): the client's, without the
 * headers of its connection, and without those by which it could pretend to be another.
 */
#include <inttypes.h>
#include <stdio.h>

#include "http/base64.h"
#include "http/path.h"
#include "proto/h1_text.h"
#include "request/req_client.h"
#include "request/req_field.h"
#include "request/req_id.h"
#include "upstream/exchange.h"

enum { KEY_BYTES = 16 }; /* of a WebSocket's handshake */

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

	if (!slice_starts(t, proxy->replaced))
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
	       !slice_eq(f->name, x->turn.proxy->subject_header) &&
	       !(req->env->conf.request_ids && slice_eq(f->name, req_id_field)) &&
	       !(names && !is_trusted(f->name) && is_named(req, f->name));
}

static bool has(const struct h2d_req *req, struct slice name)
{
	return req->conn->trusted && field_find(req->fields, req->nfields, name) != NULL;
}

/* The addresses that trusted proxies have told, and the peer's. */
static void put_client(struct h1_text *t, const struct h2d_req *req)
{
	const struct addr *client = req_client(req);
	struct slice name = SLICE("x-forwarded-for"), next = SLICE("x-forwarded-for: ");

	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (req->conn->trusted && slice_eq(f->name, name)) {
			h1_text_put(t, next);
			h1_text_put(t, f->value);
			next = SLICE(", ");
		}
	if (req->conn->peer.sa.sa_family != AF_UNIX) {
		h1_text_put(t, next);
		h1_text_put(t, slice_str(ADDR_HOST(&req->conn->peer)));
		next = SLICE(", ");
	}
	if (slice_eq(next, SLICE(", ")))
		h1_text_put(t, SLICE("\r\n"));
	if (client->sa.sa_family == AF_INET || client->sa.sa_family == AF_INET6)
		h1_text_field(t, SLICE("x-real-ip"), slice_str(ADDR_HOST(client)));
}

static void put_body(struct h1_text *t, const struct exchange *x)
{
	const struct h2d_req *req = x->req;
	uint64_t length = req->has_body && req->upgrade.n == 0 ? req->body_length : 0;
	char digits[24];

	if (x->chunked)
		h1_text_put(t, SLICE("transfer-encoding: chunked\r\n"));
	else if (length > 0 ||
		 field_find(req->fields, req->nfields, SLICE("content-length")) != NULL)
		h1_text_field(t, SLICE("content-length"),
			slice_of(digits, (size_t)sprintf(digits, "%" PRIu64, length)));
	if (x->expects)
		h1_text_put(t, SLICE("expect: 100-continue\r\n"));
	if (req->upgrade.n > 0)
		h1_text_upgrade(t, req->upgrade);
}

/* RFC 6455, 4.1: no peer of HTTP/1.1 does without a key, which a client of extended CONNECT has not
 * sent. */
static void put_key(struct h1_text *t, struct h2d_req *req)
{
	char key[BASE64_ENCODED(KEY_BYTES)];
	struct slice id = req_id(req);

	if (id.n < KEY_BYTES)
		return;
	base64_encode(id.p, KEY_BYTES, key);
	h1_text_field(t, SLICE("sec-websocket-key"), slice_of(key, sizeof(key)));
}

int ask_head(const struct exchange *x, struct outq *q)
{
	const struct site_proxy *proxy = x->turn.proxy;
	struct h2d_req *req = x->req;
	const char *subject = req->conn->client_subject;
	bool names = field_find(req->fields, req->nfields, SLICE("connection")) != NULL;
	bool connects = slice_eq(req->method_text, SLICE("CONNECT"));
	struct h1_text t;

	if (req->ncookies > 1 && req_field_join_cookies(req) < 0)
		return -1;
	h1_text_begin(&t, q);
	h1_text_put(&t, connects ? SLICE("GET") : req->method_text);
	h1_text_put(&t, SLICE(" "));
	h1_text_put(&t, proxy->prefix);
	h1_text_put(
		&t, slice_of(req->target.p + proxy->replaced.n, req->target.n - proxy->replaced.n));
	h1_text_put(&t, SLICE(" HTTP/1.1\r\n"));
	h1_text_field(&t, SLICE("host"),
		proxy->host.n > 0      ? proxy->host
		: req->authority.n > 0 ? req->authority
				       : SLICE(""));
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (ask_passes(x, f, names))
			h1_text_field(&t, f->name, f->value);
	put_client(&t, req);
	if (!has(req, SLICE("x-forwarded-proto")))
		h1_text_field(&t, SLICE("x-forwarded-proto"),
			req_client_https(req) ? SLICE("https") : SLICE("http"));
	if (!has(req, SLICE("x-forwarded-host")) && req->authority.n > 0)
		h1_text_field(&t, SLICE("x-forwarded-host"), req->authority);
	if (proxy->subject_header.n > 0 && subject != NULL)
		h1_text_field(&t, proxy->subject_header, slice_str(subject));
	if (req_id_shown(req).n > 0)
		h1_text_field(&t, req_id_field, req_id(req));
	if (connects)
		put_key(&t, req);
	put_body(&t, x);
	h1_text_put(&t, SLICE("via: "));
	h1_text_put(&t, slice_str(req->protocol.p + strlen("HTTP/")));
	h1_text_put(&t, SLICE(" h2d\r\n\r\n"));
	return h1_text_end(&t);
}
