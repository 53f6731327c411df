/*
 * params: decodes the parameters of a query or a form, once, and finds them by name or number, for
 * the calls of h2d/handler.h. Called by handlers only: who does not ask pays nothing.
 */
#include "api/params.h"

#include "http/urlencoded.h"
#include "request/handler_call.h"
#include "request/handler_text.h"

struct params *params_new(struct arena *arena, char *p, size_t n)
{
	unsigned count = (unsigned)urlencoded_count(slice_of(p, n));
	struct params *params =
		arena_alloc(arena, sizeof(*params) + (size_t)count * sizeof(params->v[0]));

	if (params == NULL)
		return NULL;
	params->n = count;
	urlencoded_decode(p, n, params->v);
	return params;
}

static const char *by_name(
	const struct h2d_req *req, const struct params *params, const char *name, size_t *len)
{
	struct slice wanted = slice_str(name);

	for (unsigned i = 0; params != NULL && i < params->n; i++)
		if (slice_eq(params->v[i].name, wanted))
			return handler_text(req, params->v[i].value, len);
	return handler_text(req, (struct slice){ 0 }, len);
}

static const char *by_number(const struct h2d_req *req, const struct params *params, unsigned i,
	const char **name, size_t *len)
{
	if (params == NULL || i >= params->n)
		return handler_text(req, (struct slice){ 0 }, len);
	if (name != NULL)
		*name = handler_text(req, params->v[i].name, NULL);
	return handler_text(req, params->v[i].value, len);
}

/* NULL when the request's memory is spent. */
static const struct params *of_query(struct h2d_req *req)
{
	struct slice query = req->query;
	char *copy;

	if (req->query_params != NULL)
		return req->query_params;
	copy = arena_alloc(&req->arena, query.n + 1);
	if (copy == NULL)
		return NULL;
	if (query.n > 0)
		memcpy(copy, query.p, query.n);
	req->query_params = params_new(&req->arena, copy, query.n);
	return req->query_params;
}

unsigned h2d_req_query_params(struct h2d_req *req)
{
	const struct params *params = of_query(req);

	HANDLER_CALL();
	return params != NULL ? params->n : 0;
}

const char *h2d_req_query_param(struct h2d_req *req, const char *name, size_t *len)
{
	HANDLER_CALL();
	return by_name(req, of_query(req), name, len);
}

const char *h2d_req_query_param_at(struct h2d_req *req, unsigned i, const char **name, size_t *len)
{
	HANDLER_CALL();
	return by_number(req, of_query(req), i, name, len);
}

/* --- of a form, once it is read (form.c) ------------------------------------------------------ */

unsigned h2d_form_params(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req->form_params != NULL ? req->form_params->n : 0;
}

const char *h2d_form_param(const struct h2d_req *req, const char *name, size_t *len)
{
	HANDLER_CALL();
	return by_name(req, req->form_params, name, len);
}

const char *h2d_form_param_at(const struct h2d_req *req, unsigned i, const char **name, size_t *len)
{
	HANDLER_CALL();
	return by_number(req, req->form_params, i, name, len);
}
