/*
 * req_cookie: counts no bytes and keeps none; what it makes lies in the request's arena.
 */
#include "request/req_cookie.h"

bool req_cookie_repeated(const struct h2d_req *req, struct slice value)
{
	if (req->ncookies == 0)
		return false;
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (f->value.p == value.p && req_cookie_is(f->name))
			return true;
	return false;
}

/* All of them with "; " between, as they came. p NULL: memory is out. */
static struct slice joined(struct h2d_req *req)
{
	const struct field *end = req->fields + req->nfields;
	size_t n = 0;
	char *p, *o;

	for (const struct field *f = req->fields; f != end; f++)
		if (req_cookie_is(f->name))
			n += f->value.n + 2;
	p = o = arena_alloc(&req->arena, n);
	if (p == NULL)
		return (struct slice){ 0 };
	for (const struct field *f = req->fields; f != end; f++)
		if (req_cookie_is(f->name)) {
			memcpy(o, f->value.p, f->value.n);
			memcpy(o + f->value.n, "; ", 2);
			o += f->value.n + 2;
		}
	return slice_of(p, n - 2);
}

int req_cookie_join(struct h2d_req *req)
{
	struct slice all = joined(req);
	unsigned kept = 0, seen = 0;

	if (all.p == NULL)
		return -1;
	for (unsigned i = 0; i < req->nfields; i++) {
		struct field f = req->fields[i];

		if (req_cookie_is(f.name) && seen++ > 0)
			continue;
		if (req_cookie_is(f.name))
			f.value = all;
		req->fields[kept++] = f;
	}
	req->nfields = kept;
	req->ncookies = 1;
	return 0;
}
