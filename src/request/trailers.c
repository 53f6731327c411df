/*
 * trailers: keeps headers that follow a content, and has the calls of h2d/handler.h for those of a
 * request. Called by protocols for each one while the body is being taken, and by reply_stream.c.
 */
#include "request/trailers.h"
#include "request/handler_rule.h"
#include "request/handler_text.h"

static struct trailers *trailers_make(struct arena *arena)
{
	struct trailers *t = arena_alloc(arena, sizeof(*t));

	if (t != NULL) {
		t->n = 0;
		t->size = 0;
	}
	return t;
}

int trailers_add(struct trailers **trailers, struct arena *arena, size_t limit, struct slice name,
	struct slice value)
{
	struct trailers *t = *trailers != NULL ? *trailers : trailers_make(arena);
	struct field copy;

	if (t == NULL)
		return -1;
	*trailers = t;
	t->size += name.n + value.n + 32;
	if (t->n == TRAILERS_MAX || t->size > limit)
		return 1;
	copy = (struct field){ arena_dup(arena, name), arena_dup(arena, value) };
	if (copy.name.p == NULL || copy.value.p == NULL)
		return -1;
	t->v[t->n++] = copy;
	return 0;
}

const char *h2d_req_trailer(const struct h2d_req *req, const char *name, size_t *len)
{
	const struct trailers *t = req->trailers;
	const struct field *f;

	HANDLER_CALL();
	f = t != NULL ? field_find(t->v, t->n, slice_str(name)) : NULL;
	return handler_text(req, f != NULL ? f->value : (struct slice){ 0 }, len);
}

const char *h2d_req_trailer_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len)
{
	const struct trailers *t = req->trailers;

	HANDLER_CALL();
	if (t == NULL || i >= t->n)
		return handler_text(req, (struct slice){ 0 }, len);
	if (name != NULL)
		*name = handler_text(req, t->v[i].name, NULL);
	return handler_text(req, t->v[i].value, len);
}
