/*
 * params: the parameters of a query or a form, found by name or number, for the calls of
 * h2d/handler.h: names and values, in the order in which they came. They are decoded when a handler
 * asks for the first of them, once, and live as long as its request. A form, a body of
 * application/x-www-form-urlencoded, is gathered by a hook (req_body.h) first: never more than the
 * handler said, in the request's memory. Called by handlers only: who does not ask pays nothing.
 */
#include "http/urlencoded.h"
#include "request/handler_call.h"
#include "request/handler_text.h"
#include "request/req_body.h"
#include "request/req_client.h"

struct params {
	unsigned n;
	struct field v[];
};

/*
 * Decodes n bytes at p in place; they live as long as arena, and have room for one more. NULL when
 * memory is out.
 */
static struct params *params_new(struct arena *arena, char *p, size_t n)
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

/* --- a form is read -----------------------------------------------------------------------------
 */

enum { FORM_FIRST = 1000 };

struct form {
	h2d_form_fn *done;
	char *p; /* with room for a NUL behind what it has room for */
	size_t n, room, max;
};

/* Tells the handler, which replies now or later; the body is nobody's any more. */
static void params_finish(struct h2d_req *req, int status)
{
	struct form *form = req->hook_state;
	struct crash_call call;

	req_unhook(req);
	handler_call_enter(&call, req, req->handler);
	form->done(req, req->handler_state, status);
	handler_call_exit();
}

static void params_refuse(struct h2d_req *req, const struct err *err)
{
	err_log(err, req_client(req));
	req_record_error(&req->record, err);
	params_finish(req, err->status);
}

/* Room for n bytes more. Memory of requests is not given back, so it doubles. */
static int make_room(struct form *form, struct arena *arena, size_t n)
{
	size_t room = form->room > 0 ? form->room : FORM_FIRST;
	char *p;

	if (form->p != NULL && n <= form->room - form->n)
		return 0;
	while (room - form->n < n)
		room *= 2;
	p = arena_alloc(arena, room + 1);
	if (p == NULL)
		return -1;
	if (form->n > 0)
		memcpy(p, form->p, form->n);
	form->p = p;
	form->room = room;
	return 0;
}

static const struct err *params_take(struct form *form, struct arena *arena, struct slice piece)
{
	if (piece.n > form->max - form->n)
		return ERR_BODY_TOO_LARGE;
	if (make_room(form, arena, piece.n) < 0)
		return ERR_NO_MEMORY;
	memcpy(form->p + form->n, piece.p, piece.n);
	form->n += piece.n;
	return NULL;
}

static void params_decode(struct h2d_req *req)
{
	struct form *form = req->hook_state;

	if (form->n > 0) {
		req->form_params = params_new(&req->arena, form->p, form->n);
		/* Names without end are too much, as bytes are. */
		if (req->form_params == NULL) {
			params_refuse(req, ERR_BODY_TOO_LARGE);
			return;
		}
	}
	params_finish(req, 200);
}

static void on_body(struct h2d_req *req)
{
	struct form *form = req->hook_state;
	const struct err *err = NULL;
	struct body_piece *piece;

	while (err == NULL && (piece = body_queue_take(&req->body_queue)) != NULL) {
		err = params_take(form, &req->arena, slice_of(piece->bytes, piece->n));
		req->stream->consume(req, piece->n);
		body_pieces_free(piece);
	}
	if (err != NULL)
		params_refuse(req, err);
	else if (req->body_queue.ended)
		params_decode(req);
}

static void on_gone(struct h2d_req *req)
{
	(void)req; /* all of it is the arena's */
}

static const struct req_hook form_hook = { on_body, on_gone };

static bool is_form(const struct h2d_req *req)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("content-type"));
	struct slice type = f != NULL ? f->value : (struct slice){ 0 };
	const char *semicolon = type.n > 0 ? memchr(type.p, ';', type.n) : NULL;

	if (semicolon != NULL)
		type.n = (size_t)(semicolon - type.p);
	return slice_ieq(field_trim(type), SLICE("application/x-www-form-urlencoded"));
}

void h2d_form_read(struct h2d_req *req, size_t max, h2d_form_fn *done)
{
	struct form *form = arena_zalloc(&req->arena, sizeof(*form));

	HANDLER_CALL();
	H2D_ASSERT(max <= H2D_FORM_MAX);
	HANDLER_MUST(req, req_body_is_whole(req), REST);
	if (form == NULL) {
		done(req, req->handler_state, ERR_NO_MEMORY->status);
		return;
	}
	form->done = done;
	form->max = max;
	req_hook(req, &form_hook, form);
	if (req->has_body && !is_form(req))
		params_refuse(req, ERR_FORM_TYPE);
	else if (req->has_body && req->body_length != BODY_UNKNOWN && req->body_length > max)
		params_refuse(req, ERR_BODY_TOO_LARGE);
	else
		req_body_draw(req);
}

/* --- and its parameters -------------------------------------------------------------------------
 */

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
