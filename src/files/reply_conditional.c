/*
 * reply_conditional: remembers the codings that clients accept; answers conditions and ranges (RFC
 * 9110, 13 and 14) for one representation and sets the headers of the reply. Called by reply_file.c
 * on the loop; it never opens or reads a file.
 */
#include "files/reply_conditional.h"

#include <inttypes.h>

#include "base/clock.h"
#include "files/files.h"
#include "http/cond.h"
#include "http/mime.h"
#include "http/range.h"
#include "request/handler_call.h"
#include "request/trace.h"

enum {
	CONDITIONS = COND_IF_MATCH | COND_IF_NONE_MATCH | COND_IF_MODIFIED_SINCE |
		     COND_IF_UNMODIFIED_SINCE,
};

void reply_conditional_error(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	reply_error(req, status);
}

__attribute__((cold)) void reply_conditional_no_memory(struct h2d_req *req)
{
	HANDLER_SLIP(req, "its request has no memory for a file; sending 503");
	reply_conditional_error(req, ERR_NO_MEMORY->status);
}

static int add_vary(struct h2d_req *req)
{
	return reply_vary(req, SLICE("accept-encoding"));
}

void reply_conditional_refuse(struct h2d_req *req, bool varies, int status)
{
	reply_conditional_error(req, varies && add_vary(req) < 0 ? ERR_NO_MEMORY->status : status);
}

unsigned reply_conditional_seen(const struct h2d_req *req)
{
	unsigned seen = cond_fields(req->fields, req->nfields);

	switch (req->method) {
	case H2D_GET:
		return seen;
	case H2D_HEAD:
		return seen & ~(unsigned)(COND_RANGE | COND_IF_RANGE);
	default:
		return seen & COND_ACCEPT_ENCODING;
	}
}

/* Headers that describe content; not with 304 (RFC 9110, 15.4.5). */
static int add_content_fields(struct h2d_req *req, const struct reply_conditional *r)
{
	int rc = reply_type(req, r->type);

	if (r->coding != CODING_IDENTITY)
		rc |= reply_add(req, SLICE("content-encoding"), coding_names[r->coding]);
	return rc;
}

static int add_fields(struct h2d_req *req, const struct reply_conditional *r, int status)
{
	int rc = status != 304 ? add_content_fields(req, r) : 0;

	if (r->etag.n > 0)
		rc |= reply_add(req, SLICE("etag"), r->etag);
	/* RFC 9110, 8.8.2.1: never later than the date of the response, which may lag behind the
	 * clock. */
	if (r->mtime <= req->env->date_s)
		rc |= reply_add(req, SLICE("last-modified"), r->last_modified);
	rc |= reply_add(req, SLICE("accept-ranges"), r->whole ? SLICE("none") : SLICE("bytes"));
	if (r->varies)
		rc |= add_vary(req);
	return rc;
}

static int add_content_range(struct h2d_req *req, const char *text)
{
	return text != NULL ? reply_add(req, SLICE("content-range"), slice_str(text)) : -1;
}

/* Turns the body into those ranges; *type may become another. 0, or -1. */
static int take_ranges(struct h2d_req *req, const struct ranges *ranges, struct slice *type)
{
	struct body *b = &req->reply.body;
	const struct range *one = &ranges->v[0];
	uint64_t size = b->left;

	if (ranges->n > 1)
		return body_parts(b, ranges, size, *type, type, &req->arena);
	b->ops->seek(b, one->at, one->n);
	return add_content_range(
		req, arena_printf(&req->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, one->at,
			     one->at + one->n - 1, size));
}

static void unsatisfiable(struct h2d_req *req, const struct reply_conditional *r)
{
	int rc = add_content_range(
		req, arena_printf(&req->arena, "bytes */%" PRIu64, req->reply.body.left));

	rc |= reply_add(req, SLICE("accept-ranges"), SLICE("bytes"));
	reply_conditional_refuse(req, r->varies, rc < 0 ? ERR_NO_MEMORY->status : 416);
}

static enum range_result ranges_of(const struct h2d_req *req, const struct reply_conditional *r,
	const struct cond_validators *v, unsigned seen, struct ranges *ranges)
{
	struct slice value = cond_range(req->fields, req->nfields, seen, v, clock_wall().tv_sec);
	enum range_result result = range_parse(value, req->reply.body.left, ranges);

	/*
	 * content-encoding covers the whole response (RFC 9110, 8.4): clients would decode several
	 * parts as one. A server may ignore the header (14.2).
	 */
	if (result == RANGE_PARTIAL && ranges->n > 1 && r->coding != CODING_IDENTITY)
		return RANGE_IGNORED;
	return result;
}

int reply_conditional_sandbox(struct h2d_req *req)
{
	int rc;

	if (req->reply.sandboxed)
		return 0;
	rc = reply_add(req, SLICE("x-content-type-options"), SLICE("nosniff"));
	req->reply.sandboxed = true;
	rc |= reply_add(req, SLICE("content-security-policy"), SLICE("sandbox"));
	return rc;
}

/*
 * Browsers play no sandboxed film or sound that is opened by its own address. By the sent type, not
 * by the name: another file may answer for that. Policies of a handler stay.
 */
static void lift_sandbox(struct h2d_req *req, struct slice type)
{
	struct reply *r = &req->reply;
	unsigned kept = 0;

	if (!req->reply.sandboxed || !mime_is_media(type))
		return;
	for (unsigned i = 0; i < r->nfields; i++)
		if (!slice_eq(r->fields[i].name, SLICE("content-security-policy")) ||
			!slice_eq(r->fields[i].value, SLICE("sandbox")))
			r->fields[kept++] = r->fields[i];
	r->nfields = kept;
	req->reply.sandboxed = false;
}

static void reply_status(struct h2d_req *req, const struct reply_conditional *r, int status)
{
	unsigned nfields;

	lift_sandbox(req, r->type);
	nfields = req->reply.nfields;
	if (add_fields(req, r, status) < 0) {
		req->reply.nfields = nfields;
		reply_conditional_no_memory(req);
		return;
	}
	reply_send(req, status);
}

static void reply_partial(
	struct h2d_req *req, const struct reply_conditional *r, const struct ranges *ranges)
{
	struct reply_conditional part = *r;

	lift_sandbox(req, r->type);
	if (take_ranges(req, ranges, &part.type) < 0)
		reply_conditional_no_memory(req);
	else
		reply_status(req, &part, 206);
}

bool reply_conditional_proceeds(
	const struct h2d_req *req, struct slice etag, time_t mtime, unsigned seen)
{
	const struct cond_validators v = { .etag = etag, .last_modified = mtime };

	return !(seen & CONDITIONS) ||
	       cond_check(req->fields, req->nfields, seen, &v, clock_wall().tv_sec) == COND_PROCEED;
}

/* Not inline: most requests, without conditions and ranges, need no frame. */
static __attribute__((noinline)) void weigh(
	struct h2d_req *req, const struct reply_conditional *r, unsigned seen)
{
	const struct cond_validators v = { .etag = r->etag, .last_modified = r->mtime };
	struct ranges ranges;

	if (seen & CONDITIONS) {
		switch (cond_check(req->fields, req->nfields, seen, &v, clock_wall().tv_sec)) {
		case COND_NOT_MODIFIED:
			TRACE_STEP(req, CONDITION, NULL,
				"not modified: the client has the current version");
			reply_status(req, r, 304);
			return;
		case COND_FAILED:
			TRACE_STEP(
				req, CONDITION, NULL, "failed: the client expects another version");
			reply_conditional_refuse(req, r->varies, 412);
			return;
		case COND_PROCEED:
			break;
		}
	}
	if (seen & COND_RANGE) {
		switch (ranges_of(req, r, &v, seen, &ranges)) {
		case RANGE_PARTIAL:
			TRACE_STEP(req, RANGE, NULL, "selects %u part%s of the content", ranges.n,
				ranges.n > 1 ? "s" : "");
			reply_partial(req, r, &ranges);
			return;
		case RANGE_UNSATISFIABLE:
			TRACE_STEP(req, RANGE, NULL, "selects nothing: the content is shorter");
			unsatisfiable(req, r);
			return;
		case RANGE_IGNORED:
			break;
		}
	}
	reply_status(req, r, 200);
}

static void answer_request(struct h2d_req *req, const struct reply_conditional *r, unsigned seen)
{
	if (seen & (CONDITIONS | COND_RANGE))
		weigh(req, r, seen);
	else
		reply_status(req, r, 200);
}

/* The handler has set the type of the content itself. */
static __attribute__((noinline)) void answer_as_said(
	struct h2d_req *req, const struct reply_conditional *r, struct slice type, unsigned seen)
{
	struct reply_conditional said = *r;

	said.type = type;
	answer_request(req, &said, seen);
}

void reply_conditional(struct h2d_req *req, const struct reply_conditional *r, unsigned seen)
{
	struct slice type = reply_take_type(req);

	if (__builtin_expect(type.p != NULL, false))
		answer_as_said(req, r, type, seen);
	else
		answer_request(req, r, seen);
}

void reply_conditional_page(struct h2d_req *req, const struct reply_conditional *r, int status)
{
	int rc = add_content_fields(req, r);

	if (r->varies)
		rc |= add_vary(req);
	if (rc < 0) {
		body_close(&req->reply.body);
		reply_own_page(req, status);
		return;
	}
	reply_send(req, status);
}

/* --- coding_memo ------------------------------------------------------------------------------ */

/* The only accept-encoding header; NULL: none or several. */
static const struct field *only(const struct field *fields, unsigned n)
{
	const struct field *found = field_find(fields, n, SLICE("accept-encoding"));

	if (found == NULL)
		return NULL;
	n -= (unsigned)(found + 1 - fields);
	return field_find(found + 1, n, SLICE("accept-encoding")) == NULL ? found : NULL;
}

static struct coding_memo_entry *entry_of(struct coding_memo *m, struct slice value)
{
	unsigned hash = (unsigned)value.n + (unsigned char)value.p[0] * 3u +
			(unsigned char)value.p[value.n / 2] * 5u +
			(unsigned char)value.p[value.n - 1] * 7u;
	struct coding_memo_entry *e = &m->entries[hash % CODING_MEMO_ENTRIES];

	if (e->n != value.n || memcmp(e->value, value.p, value.n) != 0) {
		memset(e, 0, sizeof(*e));
		e->n = (uint8_t)value.n;
		memcpy(e->value, value.p, value.n);
	}
	return e;
}

enum coding coding_memo_choose(
	struct coding_memo *m, const struct field *fields, unsigned n, unsigned available)
{
	const struct field *f = only(fields, n);
	struct coding_memo_entry *e;

	available &= (1u << CODINGS) - 1;
	if (f == NULL || f->value.n == 0 || f->value.n > CODING_MEMO_VALUE)
		return coding_choose(fields, n, available);
	e = entry_of(m, f->value);
	if (e->choice[available] == 0)
		e->choice[available] = (uint8_t)(coding_choose(f, 1, available) + 1);
	return (enum coding)(e->choice[available] - 1);
}
