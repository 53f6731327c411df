/*
 * form: gathers a request's body that is a form of application/x-www-form-urlencoded, as a hook
 * (req_body.h), and has its parameters decoded. Called by handlers (h2d/handler.h). Never takes
 * more than the handler said; all of it is the request's memory.
 */
#include "api/params.h"
#include "request/handler_call.h"
#include "request/req_body.h"
#include "request/req_client.h"

enum { FORM_FIRST = 1000 };

struct form {
	h2d_form_fn *done;
	char *p; /* with room for a NUL behind what it has room for */
	size_t n, room, max;
};

/* Tells the handler, which replies now or later; the body is nobody's any more. */
static void finish(struct h2d_req *req, int status)
{
	struct form *form = req->hook_state;
	struct crash_call call;

	req_unhook(req);
	handler_call_enter(&call, req, req->handler);
	form->done(req, req->handler_state, status);
	handler_call_exit();
}

static void refuse(struct h2d_req *req, const struct err *err)
{
	err_log(err, req_client(req));
	req_record_error(&req->record, err);
	finish(req, err->status);
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

static const struct err *take(struct form *form, struct arena *arena, struct slice piece)
{
	if (piece.n > form->max - form->n)
		return ERR_BODY_TOO_LARGE;
	if (make_room(form, arena, piece.n) < 0)
		return ERR_NO_MEMORY;
	memcpy(form->p + form->n, piece.p, piece.n);
	form->n += piece.n;
	return NULL;
}

static void decode(struct h2d_req *req)
{
	struct form *form = req->hook_state;

	if (form->n > 0) {
		req->form_params = params_new(&req->arena, form->p, form->n);
		/* Names without end are too much, as bytes are. */
		if (req->form_params == NULL) {
			refuse(req, ERR_BODY_TOO_LARGE);
			return;
		}
	}
	finish(req, 200);
}

static void on_body(struct h2d_req *req)
{
	struct form *form = req->hook_state;
	const struct err *err = NULL;
	struct body_piece *piece;

	while (err == NULL && (piece = body_queue_take(&req->body_queue)) != NULL) {
		err = take(form, &req->arena, slice_of(piece->bytes, piece->n));
		req->stream->consume(req, piece->n);
		body_pieces_free(piece);
	}
	if (err != NULL)
		refuse(req, err);
	else if (req->body_queue.ended)
		decode(req);
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
		refuse(req, ERR_FORM_TYPE);
	else if (req->has_body && req->body_length != BODY_UNKNOWN && req->body_length > max)
		refuse(req, ERR_BODY_TOO_LARGE);
	else
		req_body_draw(req);
}
