/*
 * store_resume: the protocol of resumable uploads: headers of their requests, and of the answers,
 * early (104) and final. draft-ietf-httpbis-resumable-upload-12. On the loop; store_part does the
 * disk's part.
 */
#include <stdio.h>
#include <stdlib.h>

#include "http/path.h"
#include "http/upload.h"
#include "request/handler_call.h"
#include "store/store.h"

#define PROBLEM_TYPE "https://iana.org/assignments/http-problem-types#"

/* --- the request ------------------------------------------------------------------------------ */

static const struct err *new_part(struct store *s, struct slice path)
{
	struct store_part *p = calloc(1, sizeof(*p));

	s->work.part = p;
	if (p == NULL)
		return ERR_NO_MEMORY;
	p->ticket.fd = -1;
	p->length = BODY_UNKNOWN;
	p->max = req_body_max(s->req);
	p->path = arena_printf(&s->arena, "%.*s", SLICE_ARG(path));
	return p->path != NULL ? NULL : ERR_NO_MEMORY;
}

static void take_length(struct store_part *p, const struct upload_field *u)
{
	p->last = u->complete;
	if (u->has_length)
		p->length = u->length;
}

/*
 * Finds if the client requests a resumable upload. One that is complete after this request, with a
 * client that cannot be told where it is, need not be. POST to the path of a file creates only such
 * uploads (4.2 of the draft allows any method): a form of another site, which cannot add the
 * header, stores no file by it.
 */
const struct err *store_resume_offered(struct store *s, struct slice path)
{
	const struct h2d_req *req = s->req;
	const struct err *err;
	struct upload_field u;

	upload_field_parse(req->fields, req->nfields, &u);
	if (req->method == H2D_POST && (!u.has_complete || req->site->resume_expires == 0))
		return ERR_UPLOAD_FIELDS;
	if (req->site->resume_expires == 0)
		return NULL;
	s->takes_104 = u.takes_104;
	if (!u.has_complete || (u.complete && !u.takes_104))
		return NULL;
	err = new_part(s, path);
	if (err == NULL)
		take_length(s->work.part, &u);
	return err;
}

static const struct err *check_append(struct store *s, struct store_part *p)
{
	const struct h2d_req *req = s->req;
	const struct field *type = field_find(req->fields, req->nfields, SLICE("content-type"));
	struct upload_field u;

	if (type == NULL || !upload_field_is_partial(type->value)) {
		reply_add(s->req, SLICE("accept-patch"), SLICE(UPLOAD_MEDIA_TYPE));
		return ERR_UPLOAD_TYPE;
	}
	upload_field_parse(req->fields, req->nfields, &u);
	s->takes_104 = u.takes_104;
	if (!u.has_complete || !u.has_offset)
		return ERR_UPLOAD_FIELDS;
	p->goes_on = true;
	p->asked = u.offset;
	take_length(p, &u);
	return NULL;
}

const struct err *store_resume_asked(struct store *s, struct slice path, struct slice token)
{
	const struct err *err = new_part(s, path);

	if (err != NULL)
		return err;
	if (token.n != STORE_TOKEN || s->req->site->resume_expires == 0)
		return ERR_UPLOAD_NONE;
	memcpy(s->work.part->ticket.token, token.p, token.n);
	s->below = sizeof(H2D_UPLOAD_PATH) - 1 + token.n;
	return s->req->method == H2D_PATCH ? check_append(s, s->work.part) : NULL;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void tell_field(struct h2d_req *req, struct slice name, const char *value)
{
	/* Omitted without memory: the status is what counts. */
	if (value != NULL)
		reply_add(req, name, slice_str(value));
}

static void tell_number(struct h2d_req *req, struct slice name, uint64_t v)
{
	tell_field(req, name, arena_printf(&req->arena, "%llu", (unsigned long long)v));
}

static const char *limits(struct h2d_req *req)
{
	unsigned long long max = req->location->body_size, piece = req->site->upload_piece;
	char size[40] = "", append[40] = "";

	if (max > 0)
		snprintf(size, sizeof(size), "max-size=%llu, ", max);
	if (piece > 0)
		snprintf(append, sizeof(append), "max-append-size=%llu, ", piece);
	return arena_printf(&req->arena, "%s%smax-age=%llu", size, append,
		(unsigned long long)req->site->resume_expires);
}

/* The URL of the upload; NULL when memory is out. */
static const char *location(struct store *s)
{
	struct slice path = path_encode(s->req->path, &s->req->arena);

	if (path.p == NULL)
		return NULL;
	return arena_printf(&s->req->arena, "%.*s" H2D_UPLOAD_PATH "%s", SLICE_ARG(path),
		s->work.part->ticket.token);
}

static void interim(struct h2d_req *req, struct slice name, const char *value, const char *limit)
{
	struct field fields[3];

	if (value == NULL)
		return;
	fields[0] =
		(struct field){ SLICE("upload-draft-interop-version"), SLICE(UPLOAD_INTEROP_TEXT) };
	fields[1] = (struct field){ name, slice_str(value) };
	if (limit != NULL)
		fields[2] = (struct field){ SLICE("upload-limit"), slice_str(limit) };
	req->stream->interim(req, 104, fields, limit != NULL ? 3 : 2);
}

/* 4.2.2 of the draft: from here on the client can return. */
void store_resume_begun(struct store *s)
{
	s->told = s->work.part->offset;
	if (s->takes_104 && !s->work.part->goes_on)
		interim(s->req, SLICE("location"), location(s), limits(s->req));
}

void store_resume_progress(struct store *s)
{
	uint64_t offset = s->work.part->offset;
	char text[24];

	if (offset == s->told)
		return;
	s->told = offset;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)offset);
	if (s->takes_104)
		interim(s->req, SLICE("upload-offset"), text, NULL);
}

void store_resume_tell_offset(struct store *s)
{
	struct h2d_req *req = s->req;
	const struct store_part *p = s->work.part;

	reply_add(req, SLICE("upload-complete"), p->complete ? SLICE("?1") : SLICE("?0"));
	tell_number(req, SLICE("upload-offset"), p->offset);
}

void store_resume_tell_created(struct store *s)
{
	store_resume_tell_offset(s);
	tell_field(s->req, SLICE("upload-limit"), limits(s->req));
	tell_field(s->req, SLICE("location"), location(s));
}

void store_resume_tell_all(struct store *s)
{
	const struct store_part *p = s->work.part;

	store_resume_tell_offset(s);
	tell_field(s->req, SLICE("upload-limit"), limits(s->req));
	if (p->complete)
		tell_number(s->req, SLICE("upload-length"), p->offset);
	else if (p->length != BODY_UNKNOWN)
		tell_number(s->req, SLICE("upload-length"), p->length);
	reply_add(s->req, SLICE("cache-control"), SLICE("no-store"));
}

/* --- errors ----------------------------------------------------------------------------------- */

/* RFC 9457, in the words of section 7 of the draft; NULL: none for this error. */
static const char *problem_text(struct store *s, const struct err *err)
{
	const struct store_part *p = s->work.part;

	if (err == ERR_UPLOAD_OFFSET)
		return arena_printf(&s->req->arena,
			"{\"type\":\"" PROBLEM_TYPE "mismatching-upload-offset\","
			"\"title\":\"offset from request does not match offset of resource\","
			"\"expected-offset\":%llu,\"provided-offset\":%llu}\n",
			(unsigned long long)p->offset, (unsigned long long)p->asked);
	if (err == ERR_UPLOAD_LENGTH)
		return "{\"type\":\"" PROBLEM_TYPE "inconsistent-upload-length\","
		       "\"title\":\"inconsistent length values for upload\"}\n";
	if (err == ERR_UPLOAD_COMPLETE)
		return "{\"type\":\"" PROBLEM_TYPE "completed-upload\","
		       "\"title\":\"upload is already completed\"}\n";
	return NULL;
}

bool store_resume_failed(struct store *s, const struct err *err)
{
	struct h2d_req *req = s->req;
	const struct store_part *p = s->work.part;
	const char *text = problem_text(s, err);

	if (err == ERR_BODY_TOO_LARGE)
		tell_field(req, SLICE("upload-limit"), limits(req));
	else if (err == ERR_UPLOAD_OFFSET || err == ERR_UPLOAD_COMPLETE)
		store_resume_tell_offset(s);
	/* All of it came, and sending it again would not help (4.4.2). */
	else if (p->left == STORE_PART_NONE && p->last)
		reply_add(req, SLICE("upload-complete"), SLICE("?1"));
	if (text == NULL)
		return false;
	reply_bytes(req, err->status, "application/problem+json", slice_str(text));
	return true;
}

/* --- offers ----------------------------------------------------------------------------------- */

/* True if the path is below a directory that is deeper than uploads may be. */
static bool is_too_deep(const struct h2d_req *req)
{
	const struct site_upload *u = req->location->upload;
	unsigned slashes = 0;

	for (size_t i = u != NULL ? u->url.n + 1 : req->path.n; i < req->path.n; i++)
		slashes += req->path.p[i] == '/';
	return slashes > req->site->upload_depth;
}

void h2d_store_offer(struct h2d_req *req)
{
	HANDLER_CALL();
	if (req->site->resume_expires == 0 || is_too_deep(req))
		return;
	reply_add(req, SLICE("accept-patch"), SLICE(UPLOAD_MEDIA_TYPE));
	tell_field(req, SLICE("upload-limit"), limits(req));
}
