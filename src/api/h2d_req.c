/*
 * h2d_req: the calls for a handler's facts about its request (h2d/handler.h). Called by handlers
 * only. Results come from struct h2d_req directly; only the one header of all cookies is made on
 * demand.
 */
#include "http/coding.h"
#include "http/field.h"
#include "request/handler_call.h"
#include "request/req_client.h"
#include "request/req_field.h"
#include "request/req_id.h"

static const struct slice none;

/* The string of a part that a request may lack. */
static struct slice or_empty(struct slice s)
{
	return s.p != NULL ? s : SLICE("");
}

enum h2d_method h2d_req_method(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req->method;
}

const char *h2d_req_path(const struct h2d_req *req, size_t *len)
{
	HANDLER_CALL();
	return handler_call_text(req, req->path, len);
}

const char *h2d_req_query(const struct h2d_req *req, size_t *len)
{
	HANDLER_CALL();
	return handler_call_text(req, or_empty(req->query), len);
}

const char *h2d_req_authority(const struct h2d_req *req, size_t *len)
{
	HANDLER_CALL();
	return handler_call_text(req, or_empty(req->authority), len);
}

const char *h2d_req_param(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct route *route = req->match.route;

	HANDLER_CALL();
	for (unsigned i = 0; route != NULL && i < route->nparams; i++)
		if (strcmp(route->params[i], name) == 0)
			return handler_call_text(req, req->match.params[i], len);
	return handler_call_text(req, none, len);
}

/* Only on demand: equal cookies of many requests are stored once. False: the request's memory is
 * full. */
static bool has_one_cookie_field(struct h2d_req *req)
{
	return req->ncookies <= 1 || req_field_join_cookies(req) == 0;
}

const char *h2d_req_header(struct h2d_req *req, const char *name, size_t *len)
{
	HANDLER_CALL();
	return h2d_req_header_nth(req, name, 0, len);
}

const char *h2d_req_header_nth(struct h2d_req *req, const char *name, unsigned i, size_t *len)
{
	const struct field *f = NULL;

	HANDLER_CALL();
	if (strcmp(name, "cookie") != 0 || has_one_cookie_field(req))
		f = field_find(req->fields, req->nfields, slice_str(name));
	for (; f != NULL && i > 0; i--)
		f = field_find(f + 1, req->nfields - (unsigned)(f + 1 - req->fields), f->name);
	return handler_call_field(req, f, NULL, NULL, len);
}

unsigned h2d_req_headers(struct h2d_req *req)
{
	HANDLER_CALL();
	return has_one_cookie_field(req) ? req->nfields : 0;
}

const char *h2d_req_header_at(
	struct h2d_req *req, unsigned i, const char **name, size_t *name_len, size_t *len)
{
	HANDLER_CALL();
	return handler_call_field(
		req, i < h2d_req_headers(req) ? &req->fields[i] : NULL, name, name_len, len);
}

const char *h2d_req_cookie(struct h2d_req *req, const char *name, size_t *len)
{
	const struct field *f;
	struct slice value;
	char *copy;

	HANDLER_CALL();
	if (!has_one_cookie_field(req))
		return handler_call_text(req, none, len);
	f = field_find(req->fields, req->nfields, SLICE("cookie"));
	if (f == NULL || !field_cookie(f->value, slice_str(name), &value))
		return handler_call_text(req, none, len);
	if (req->cookies == NULL)
		req->cookies = (char *)(uintptr_t)arena_dup(&req->arena, f->value).p;
	if (req->cookies == NULL)
		return handler_call_text(req, none, len);
	/* After a value comes its separator from the next. */
	copy = req->cookies + (value.p - f->value.p);
	copy[value.n] = '\0';
	return handler_call_text(req, slice_of(copy, value.n), len);
}

/* A bit for each of the names in text. */
static unsigned codings_of(const char *text)
{
	unsigned found = 0;
	struct slice name;

	while ((name = slice_next_word(&text, " ")).n > 0)
		for (unsigned c = 0; c < CODINGS; c++)
			found |= (unsigned)slice_eq(name, coding_names[c]) << c;
	return found;
}

const char *h2d_req_coding(const struct h2d_req *req, const char *codings)
{
	enum coding coding = coding_choose(req->fields, req->nfields, codings_of(codings));

	HANDLER_CALL();
	return coding < CODINGS ? coding_names[coding].p : NULL;
}

const char *h2d_req_scheme(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req_client_https(req) ? "https" : "http";
}

const char *h2d_req_tls_version(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req->conn->tls_version;
}

unsigned h2d_req_params(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req->match.route != NULL ? req->match.route->nparams : 0;
}

const char *h2d_req_param_at(const struct h2d_req *req, unsigned i, const char **name, size_t *len)
{
	HANDLER_CALL();
	if (i >= h2d_req_params(req))
		return handler_call_text(req, none, len);
	if (name != NULL)
		*name = req->match.route->params[i];
	return handler_call_text(req, req->match.params[i], len);
}

int64_t h2d_req_length(const struct h2d_req *req)
{
	HANDLER_CALL();
	if (!req->has_body)
		return 0;
	return req->body_length != BODY_UNKNOWN ? (int64_t)req->body_length : -1;
}

const char *h2d_req_peer(struct h2d_req *req, size_t *len)
{
	HANDLER_CALL();
	if (req->peer_text == NULL)
		req->peer_text = arena_strdup(&req->arena, ADDR_HOST(req_client(req)));
	return handler_call_text(req, slice_str(req->peer_text), len);
}

const char *h2d_req_client_subject(const struct h2d_req *req, size_t *len)
{
	const char *subject = req->conn->client_subject;

	HANDLER_CALL();
	return handler_call_text(req, subject != NULL ? slice_str(subject) : none, len);
}

const char *h2d_req_user(const struct h2d_req *req, size_t *len)
{
	HANDLER_CALL();
	return handler_call_text(req, req->user.n > 0 ? req->user : none, len);
}

int h2d_req_set_user(struct h2d_req *req, const char *name, size_t len)
{
	struct slice user = { 0 };

	HANDLER_CALL();
	if (len > 0)
		user = arena_dup(&req->arena, HANDLER_SLICE(req, name, len));
	if (len > 0 && user.p == NULL)
		return -1;
	req->user = user;
	return 0;
}

const char *h2d_req_id(struct h2d_req *req, size_t *len)
{
	HANDLER_CALL();
	return handler_call_text(req, req_id(req), len);
}

void *h2d_req_alloc(struct h2d_req *req, size_t n)
{
	HANDLER_CALL();
	return arena_alloc_any(&req->arena, n);
}

void h2d_resume(struct h2d_req *req)
{
	HANDLER_CALL();
	req_resume(req);
}

bool h2d_draining(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req->env->draining;
}

const char *h2d_req_trailer(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct trailers *t = req->trailers;

	HANDLER_CALL();
	return handler_call_field(
		req, t != NULL ? field_find(t->v, t->n, slice_str(name)) : NULL, NULL, NULL, len);
}

const char *h2d_req_trailer_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len)
{
	const struct trailers *t = req->trailers;

	HANDLER_CALL();
	return handler_call_field(req, t != NULL && i < t->n ? &t->v[i] : NULL, name, NULL, len);
}
