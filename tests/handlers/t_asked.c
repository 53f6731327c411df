/*
 * t_asked: answers with what a client has asked by, a line each: fields, cookies, parameters of the
 * query, how it came. GET /t/asked.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <string.h>

struct text {
	char bytes[4000];
	size_t n;
};

static void add(struct text *t, const char *what, const char *name, size_t name_len, const char *p,
	size_t len)
{
	int n = snprintf(t->bytes + t->n, sizeof(t->bytes) - t->n, "%s %.*s=%.*s\n", what,
		(int)name_len, name, (int)len, p);

	if (n > 0 && (size_t)n < sizeof(t->bytes) - t->n)
		t->n += (size_t)n;
}

/* The cookie that the query names: "?cookie=NAME". */
static void add_cookie(struct text *t, struct h2d_req *req)
{
	size_t len;
	const char *name = h2d_req_query_param(req, "cookie", NULL), *p;

	p = name != NULL ? h2d_req_cookie(req, name, &len) : NULL;
	if (p != NULL)
		add(t, "cookie", name, strlen(name), p, len);
}

static void start(struct h2d_req *req, void *state)
{
	struct text *t = state;
	const char *p, *name;
	size_t n, len;

	for (unsigned i = 0; (p = h2d_req_header_at(req, i, &name, &n, &len)) != NULL; i++)
		add(t, "field", name, n, p, len);
	for (unsigned i = 0; (p = h2d_req_header_nth(req, "x-twice", i, &len)) != NULL; i++)
		add(t, "twice", "", 0, p, len);
	for (unsigned i = 0; (p = h2d_req_query_param_at(req, i, &name, &len)) != NULL; i++)
		add(t, "query", name, strlen(name), p, len);
	add_cookie(t, req);
	p = h2d_req_scheme(req);
	add(t, "scheme", "", 0, p, strlen(p));
	p = h2d_req_tls_version(req);
	if (p != NULL)
		add(t, "tls", "", 0, p, strlen(p));
	p = h2d_req_client_subject(req, &len);
	if (p != NULL)
		add(t, "client", "", 0, p, len);
	p = h2d_req_id(req, &len);
	add(t, "id", "", 0, p, len);
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", t->bytes, t->n);
}

const struct h2d_handler h2d_handler_t_asked = {
	.name = "t_asked",
	.state_size = sizeof(struct text),
	.start = start,
};
