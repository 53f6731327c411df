/*
 * params: the parameters of a query or a form, found by name or number, for the calls of
 * h2d/handler.h: names and values, in order. They are decoded when a handler reads the first of
 * them, once, and live as long as its request. A form, or another body that a handler reads whole,
 * is gathered by a hook (req_body.h) in the request's memory, up to the handler's limit. Called by
 * handlers only: others pay nothing.
 */
#include "http/urlencoded.h"
#include "request/handler_call.h"
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
	return handler_call_field(req,
		params != NULL ? field_find(params->v, params->n, slice_str(name)) : NULL, NULL,
		NULL, len);
}

static const char *by_number(const struct h2d_req *req, const struct params *params, unsigned i,
	const char **name, size_t *len)
{
	return handler_call_field(
		req, params != NULL && i < params->n ? &params->v[i] : NULL, name, NULL, len);
}

/* NULL when the request's memory is full. */
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

/* --- a body is read --------------------------------------------------------------------------- */

struct body_read {
	h2d_body_fn *done;
	h2d_form_fn *form_done; /* instead, for a form */
	char *p;                /* with room for max bytes and a NUL */
	size_t n, max;
};

/* Calls the handler, which replies now or later. */
static void tell(struct h2d_req *req, const struct body_read *r, int status)
{
	struct slice data = status == 200 ? slice_of(r->p, r->n) : (struct slice){ 0 };
	const char *text = handler_call_text(req, data, NULL);

	if (r->form_done != NULL)
		HANDLER_CALL_DO(req, r->form_done(req, req->handler_state, status));
	else
		HANDLER_CALL_DO(req, r->done(req, req->handler_state, status, text, data.n));
}

/* The body has no taker any more. */
static void params_finish(struct h2d_req *req, int status)
{
	const struct body_read *r = req->hook_state;

	req_unhook(req);
	tell(req, r, status);
}

static void params_refuse(struct h2d_req *req, const struct err *err)
{
	req_fault(req, err);
	params_finish(req, err->status);
}

static void params_complete(struct h2d_req *req)
{
	struct body_read *r = req->hook_state;

	r->p[r->n] = '\0';
	if (r->form_done != NULL && r->n > 0) {
		req->form_params = params_new(&req->arena, r->p, r->n);
		/* Too many names are too much, like bytes. */
		if (req->form_params == NULL) {
			params_refuse(req, ERR_BODY_TOO_LARGE);
			return;
		}
	}
	params_finish(req, 200);
}

static void on_body(struct h2d_req *req)
{
	struct body_read *r = req->hook_state;
	const struct err *err = NULL;
	struct body_piece *piece;

	while (err == NULL && (piece = body_queue_take(&req->body_queue)) != NULL) {
		if (piece->n > r->max - r->n) {
			err = ERR_BODY_TOO_LARGE;
		} else {
			memcpy(r->p + r->n, piece->bytes, piece->n);
			r->n += piece->n;
		}
		req->stream->consume(req, piece->n);
		body_pieces_free(piece);
	}
	if (err != NULL)
		params_refuse(req, err);
	else if (req->body_queue.ended)
		params_complete(req);
}

static const struct req_hook read_hook = { .body = on_body };

static bool is_form(const struct h2d_req *req)
{
	const struct field *f = field_find(req->fields, req->nfields, SLICE("content-type"));
	struct slice rest = f != NULL ? f->value : (struct slice){ 0 }, type;

	slice_cut(&rest, ';', &type);
	return slice_ieq(field_trim(type), SLICE("application/x-www-form-urlencoded"));
}

/* A body of unknown length has room for max bytes: memory that is not touched costs little. */
static void read_body(struct h2d_req *req, struct body_read given)
{
	struct body_read *r = arena_zalloc(&req->arena, sizeof(*r));
	uint64_t n = !req->has_body                     ? 0
		     : req->body_length != BODY_UNKNOWN ? req->body_length
							: given.max;

	H2D_ASSERT(given.max <= H2D_READ_MAX);
	HANDLER_MUST(req, req_body_is_whole(req), REST);
	if (r == NULL) {
		tell(req, &given, ERR_NO_MEMORY->status);
		return;
	}
	*r = given;
	if (n <= given.max)
		r->p = arena_alloc(&req->arena, n + 1);
	r->max = (size_t)n;
	req_hook(req, &read_hook, r);
	if (req->has_body && r->form_done != NULL && !is_form(req))
		params_refuse(req, ERR_FORM_TYPE);
	else if (r->p == NULL)
		params_refuse(req, n > given.max ? ERR_BODY_TOO_LARGE : ERR_NO_MEMORY);
	else
		req_body_draw(req);
}

void h2d_body_read(struct h2d_req *req, size_t max, h2d_body_fn *done)
{
	HANDLER_CALL();
	read_body(req, (struct body_read){ .done = done, .max = max });
}

void h2d_form_read(struct h2d_req *req, size_t max, h2d_form_fn *done)
{
	HANDLER_CALL();
	read_body(req, (struct body_read){ .form_done = done, .max = max });
}

/* --- the parameters of a form ----------------------------------------------------------------- */

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
