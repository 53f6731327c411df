/*
 * req_field: keeps the headers of a request in its arena, and counts them against their limits.
 * Called by protocols for each header, and for handlers that read cookies.
 */
#include "request/req_field.h"

enum { FIELDS_FIRST = 12 };

void req_field_init(struct h2d_req *req)
{
	req->fields = arena_alloc(&req->arena, FIELDS_FIRST * sizeof(*req->fields));
	if (req->fields == NULL)
		return;
	req->fields_room = FIELDS_FIRST;
	req->fields_cap = req->env->conf.header_fields < FIELDS_FIRST ? req->env->conf.header_fields
								      : FIELDS_FIRST;
}

static bool is_cookie(struct slice name)
{
	return name.n == 6 && slice_eq(name, SLICE("cookie"));
}

/*
 * True if the bytes of value are those of a present cookie: it adds no information, and one byte on
 * the wire may mean it (RFC 7541, 6.1), again and again.
 */
static bool repeated(const struct h2d_req *req, struct slice value)
{
	if (req->ncookies == 0)
		return false;
	for (const struct field *f = req->fields; f != req->fields + req->nfields; f++)
		if (f->value.p == value.p && is_cookie(f->name))
			return true;
	return false;
}

static int more_room(struct h2d_req *req)
{
	unsigned room = req->fields_room == 0 ? FIELDS_FIRST : 4 * req->fields_room;
	struct field *fields;

	if (room > req->env->conf.header_fields)
		room = req->env->conf.header_fields > req->nfields ? req->env->conf.header_fields
								   : 2 * req->nfields;
	fields = arena_alloc(&req->arena, room * sizeof(*fields));
	if (fields == NULL)
		return -1;
	if (req->nfields > 0)
		memcpy(fields, req->fields, req->nfields * sizeof(*fields));
	req->fields = fields;
	req->fields_room = room;
	return 0;
}

/* Makes room for one more header. 1: there are too many, -1: memory is out. */
static __attribute__((noinline)) int grow(struct h2d_req *req)
{
	/* All cookies are one header, which only its size limits. */
	unsigned most = req->env->conf.header_fields + (req->ncookies > 0 ? req->ncookies - 1 : 0);

	if (req->nfields >= most)
		return 1;
	if (req->nfields == req->fields_room && more_room(req) < 0)
		return -1;
	req->fields_cap = req->fields_room < most ? req->fields_room : most;
	return 0;
}

int req_field_add(struct h2d_req *req, struct slice name, struct slice value)
{
	int rc;

	req->head_size += name.n + value.n + 32; /* RFC 9113, 6.5.2 */
	if (req->head_size > req->env->conf.header_size) {
		req->head_too_large = true;
		return 0;
	}
	if (is_cookie(name)) {
		if (repeated(req, value))
			return 0;
		req->ncookies++;
	}
	if (req->nfields == req->fields_cap && (rc = grow(req)) != 0) {
		req->head_too_large |= rc > 0;
		return rc < 0 ? -1 : 0;
	}
	req->fields[req->nfields++] = (struct field){ name, value };
	return 0;
}

/* Cookies joined by "; ". p NULL: memory is out. */
static struct slice joined(struct h2d_req *req)
{
	const struct field *end = req->fields + req->nfields;
	size_t n = 0;
	char *p, *o;

	for (const struct field *f = req->fields; f != end; f++)
		if (is_cookie(f->name))
			n += f->value.n + 2;
	p = o = arena_alloc(&req->arena, n);
	if (p == NULL)
		return (struct slice){ 0 };
	for (const struct field *f = req->fields; f != end; f++)
		if (is_cookie(f->name)) {
			memcpy(o, f->value.p, f->value.n);
			memcpy(o + f->value.n, "; ", 2);
			o += f->value.n + 2;
		}
	p[n - 2] = '\0';
	return slice_of(p, n - 2);
}

int req_field_join_cookies(struct h2d_req *req)
{
	struct slice all = joined(req);
	unsigned kept = 0, seen = 0;

	if (all.p == NULL)
		return -1;
	for (unsigned i = 0; i < req->nfields; i++) {
		struct field f = req->fields[i];

		if (is_cookie(f.name) && seen++ > 0)
			continue;
		if (is_cookie(f.name))
			f.value = all;
		req->fields[kept++] = f;
	}
	req->nfields = kept;
	req->ncookies = 1;
	return 0;
}
