/*
 * h2d_req: what a handler can ask of its request and do with its body (h2d/handler.h). Called by
 * handlers only. Answers from struct h2d_req as it stands; nothing is looked up or made anew.
 */
#include "request/req.h"

static const char *text(struct slice s, size_t *len)
{
	if (len != NULL)
		*len = s.n;
	return s.p;
}

enum h2d_method h2d_req_method(const struct h2d_req *req)
{
	return req->method;
}

const char *h2d_req_path(const struct h2d_req *req, size_t *len)
{
	return text(req->path, len);
}

const char *h2d_req_query(const struct h2d_req *req, size_t *len)
{
	return text(req->query, len);
}

const char *h2d_req_authority(const struct h2d_req *req, size_t *len)
{
	return text(req->authority, len);
}

const char *h2d_req_param(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct route *route = req->match.route;

	for (unsigned i = 0; route != NULL && i < route->nparams; i++)
		if (strcmp(route->params[i], name) == 0)
			return text(req->match.params[i], len);
	return text((struct slice){ 0 }, len);
}

const char *h2d_req_field(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct field *f = field_find(req->fields, req->nfields, slice_str(name));

	return text(f != NULL ? f->value : (struct slice){ 0 }, len);
}

void *h2d_req_alloc(struct h2d_req *req, size_t n)
{
	return arena_alloc(&req->arena, n);
}

void h2d_consume(struct h2d_req *req, size_t n)
{
	req->stream->consume(req, n);
}

void h2d_resume(struct h2d_req *req)
{
	req_resume(req);
}

bool h2d_draining(const struct h2d_req *req)
{
	return req->env->draining;
}
