/*
 * reply_field: the headers of a response: those of a handler, h2d_reply_header(), and the type.
 * Called by handlers, and by reply.c and files/, which add others. Never sends.
 */
#include "request/handler_call.h"

static const struct slice replaced[REPLY_SAIDS] = {
	[REPLY_SAID_DATE] = SLICE_LIT("date"),
	[REPLY_SAID_SERVER] = SLICE_LIT("server"),
	[REPLY_SAID_TYPE] = SLICE_LIT("content-type"),
};

bool reply_field_valid(struct slice name, struct slice value)
{
	return !field_is_hop(name) && field_name_valid(name) && field_value_valid(value);
}

static __attribute__((cold, noinline)) bool reply_grow(struct h2d_req *req, unsigned n)
{
	struct reply *r = &req->reply;
	unsigned room = 2 * r->room + n;
	struct field *fields = arena_alloc(&req->arena, room * sizeof(*fields));

	if (fields == NULL)
		return false;
	memcpy(fields, r->fields, r->nfields * sizeof(*fields));
	r->fields = fields;
	r->room = room;
	return true;
}

inline bool reply_room(struct h2d_req *req, unsigned n)
{
	return __builtin_expect(
		       req->reply.nfields + n + REPLY_FIELDS_OWN <= req->reply.room, true) ||
	       reply_grow(req, n);
}

inline int reply_add(struct h2d_req *req, struct slice name, struct slice value)
{
	if (!reply_room(req, 1))
		return -1;
	req->reply.fields[req->reply.nfields++] = (struct field){ name, value };
	return 0;
}

/* Adds a unique header, or replaces its value. -1 like reply_add(). */
static int replace(struct h2d_req *req, enum reply_said said, struct slice value)
{
	struct reply *r = &req->reply;

	for (struct field *f = r->fields; f != r->fields + r->nfields; f++)
		if (slice_eq(f->name, replaced[said])) {
			f->value = value;
			return 0;
		}
	if (reply_add(req, replaced[said], value) < 0)
		return -1;
	r->said |= 1u << said;
	return 0;
}

int reply_type(struct h2d_req *req, struct slice type)
{
	if (__builtin_expect(req->reply.said != 0, false))
		return replace(req, REPLY_SAID_TYPE, type);
	return reply_add(req, SLICE("content-type"), type);
}

int reply_set(struct h2d_req *req, struct slice name, struct slice value)
{
	for (unsigned said = 0; said < REPLY_SAIDS; said++)
		if (slice_eq(name, replaced[said]))
			return replace(req, said, value);
	return reply_add(req, name, value);
}

int h2d_reply_header(struct h2d_req *req, const char *name, const char *value)
{
	struct slice n = slice_str(name), v = slice_str(value);

	HANDLER_CALL();
	if (!HANDLER_MAY(req, FIELD) || !reply_field_valid(n, v))
		return -1;
	n = arena_dup(&req->arena, n);
	v = arena_dup(&req->arena, v);
	return n.p != NULL && v.p != NULL ? reply_set(req, n, v) : -1;
}

struct slice reply_take_type(struct h2d_req *req)
{
	struct reply *r = &req->reply;
	struct slice type = { 0 };
	unsigned kept = 0;

	if (__builtin_expect(r->said == 0, true))
		return type;
	for (unsigned i = 0; i < r->nfields; i++)
		if (slice_eq(r->fields[i].name, replaced[REPLY_SAID_TYPE]))
			type = r->fields[i].value;
		else
			r->fields[kept++] = r->fields[i];
	r->nfields = kept;
	return type;
}
