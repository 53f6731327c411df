/*
 * store_resume: resumable uploads as clients see them: what their requests say of the upload, and
 * what they are told of it, early (104) and in the end. draft-ietf-httpbis-resumable-upload-12. On
 * the loop; the disk is store_part's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "http/path.h"
#include "http/upload_field.h"
#include "store/store.h"

#define PROBLEM_TYPE "https://iana.org/assignments/http-problem-types#"

/* --- what the request says -------------------------------------------------------------------- */

static struct store_part *new_part(struct store *s, enum store_part_what what)
{
	const struct h2d_req *req = s->req;
	struct store_part *p = calloc(1, sizeof(*p));

	s->work.part = p;
	if (p == NULL)
		return NULL;
	p->what = what;
	p->ticket.fd = -1;
	p->length = BODY_UNKNOWN;
	p->max = req->env->body_size > 0 ? req->env->body_size : UINT64_MAX;
	return p;
}

bool store_resume_user(struct store *s)
{
	s->work.part->user = arena_printf(&s->arena, "%.*s", SLICE_ARG(s->req->user));
	return s->work.part->user != NULL;
}

static void take_length(struct store_part *p, const struct upload_field *u)
{
	p->last = u->complete;
	if (u->has_length)
		p->length = u->length;
}

/*
 * Whether the client wants an upload that can be resumed. One whose client cannot be told where it
 * is, and which is complete behind this request, need not be. To the path of a file POST creates
 * such uploads and nothing else (4.2 of the draft has any method): a form of another site, which
 * cannot add the field, stores nothing by it.
 */
int store_resume_offered(struct store *s)
{
	const struct h2d_req *req = s->req;
	struct store_part *p;
	struct upload_field u;

	upload_field_parse(req->fields, req->nfields, &u);
	if (req->method == H2D_POST && (!u.has_complete || req->site->upload_expires == 0))
		return store_wrong(s, ERR_UPLOAD_FIELDS);
	if (req->site->upload_expires == 0)
		return 0;
	s->takes_104 = u.takes_104;
	if (!u.has_complete || (u.complete && !u.takes_104))
		return 0;
	p = new_part(s, STORE_PART_CREATE);
	if (p == NULL)
		return ERR_NO_MEMORY->status;
	take_length(p, &u);
	return 0;
}

static int check_append(struct store *s, struct store_part *p)
{
	const struct h2d_req *req = s->req;
	const struct field *type = field_find(req->fields, req->nfields, SLICE("content-type"));
	struct upload_field u;

	if (type == NULL || !upload_field_is_partial(type->value)) {
		reply_add(s->req, SLICE("accept-patch"), SLICE(UPLOAD_MEDIA_TYPE));
		return 415;
	}
	upload_field_parse(req->fields, req->nfields, &u);
	s->takes_104 = u.takes_104;
	if (!u.has_complete || !u.has_offset)
		return store_wrong(s, ERR_UPLOAD_FIELDS);
	p->asked = u.offset;
	take_length(p, &u);
	return 0;
}

int store_resume_asked(struct store *s, struct slice token)
{
	static const enum store_part_what what[H2D_METHODS] = { [H2D_PATCH] = STORE_PART_APPEND,
		[H2D_HEAD] = STORE_PART_LOOK,
		[H2D_DELETE] = STORE_PART_CANCEL };
	const struct h2d_req *req = s->req;
	struct store_part *p = new_part(s, what[req->method]);

	if (p == NULL)
		return ERR_NO_MEMORY->status;
	if (token.n != STORE_TOKEN || req->site->upload_expires == 0)
		return 404;
	memcpy(p->ticket.token, token.p, token.n);
	s->below = sizeof(H2D_UPLOAD_PATH) - 1 + token.n;
	return p->what == STORE_PART_APPEND ? check_append(s, p) : 0;
}

/* --- what the client is told ------------------------------------------------------------------ */

static void tell(struct h2d_req *req, struct slice name, const char *value)
{
	/* Without memory it is not said: the status is what counts. */
	if (value != NULL)
		reply_add(req, name, slice_str(value));
}

static void tell_number(struct h2d_req *req, struct slice name, uint64_t v)
{
	tell(req, name, arena_printf(&req->arena, "%llu", (unsigned long long)v));
}

static const char *limits(struct h2d_req *req)
{
	unsigned long long max = req->env->body_size, age = req->site->upload_expires;

	if (max == 0)
		return arena_printf(&req->arena, "max-age=%llu", age);
	return arena_printf(&req->arena, "max-size=%llu, max-age=%llu", max, age);
}

/* Where the upload can be asked for; NULL when memory is out. */
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

/* 4.2.2 of the draft: from here on the client can come back. */
void store_resume_begun(struct store *s)
{
	if (s->takes_104 && s->work.part->what == STORE_PART_CREATE)
		interim(s->req, SLICE("location"), location(s), limits(s->req));
}

void store_resume_progress(struct store *s)
{
	char text[24];

	s->progress = false;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)s->work.part->offset);
	if (s->takes_104)
		interim(s->req, SLICE("upload-offset"), text, NULL);
}

static void tell_state(struct store *s, bool complete)
{
	struct h2d_req *req = s->req;
	const struct store_part *p = s->work.part;

	reply_add(req, SLICE("upload-complete"), complete ? SLICE("?1") : SLICE("?0"));
	tell_number(req, SLICE("upload-offset"), p->offset);
}

/* What became of a request that leaves no file in its place. */
static int tell_upload(struct store *s)
{
	struct h2d_req *req = s->req;
	const struct store_part *p = s->work.part;

	if (p->what == STORE_PART_CANCEL)
		return 204;
	tell_state(s, p->complete);
	if (p->what == STORE_PART_APPEND)
		return 204;
	tell(req, SLICE("upload-limit"), limits(req));
	if (p->what == STORE_PART_CREATE) {
		tell(req, SLICE("location"), location(s));
		return 201;
	}
	if (p->complete)
		tell_number(req, SLICE("upload-length"), p->offset);
	else if (p->length != BODY_UNKNOWN)
		tell_number(req, SLICE("upload-length"), p->length);
	reply_add(req, SLICE("cache-control"), SLICE("no-store"));
	return 204;
}

void store_resume_answer(struct store *s)
{
	store_answer(s, tell_upload(s), NULL, 0);
}

void store_resume_placed(struct store *s)
{
	reply_add(s->req, SLICE("upload-complete"), SLICE("?1"));
}

/* --- what was wrong --------------------------------------------------------------------------- */

/* RFC 9457, in the words of section 7 of the draft. */
static const char *problem_text(struct store *s)
{
	const struct store_part *p = s->work.part;
	struct arena *a = &s->req->arena;

	switch (p->problem) {
	case STORE_PART_OFFSET:
		return arena_printf(a,
			"{\"type\":\"" PROBLEM_TYPE "mismatching-upload-offset\","
			"\"title\":\"offset from request does not match offset of resource\","
			"\"expected-offset\":%llu,\"provided-offset\":%llu}\n",
			(unsigned long long)p->offset, (unsigned long long)p->asked);
	case STORE_PART_LENGTH:
		return "{\"type\":\"" PROBLEM_TYPE "inconsistent-upload-length\","
		       "\"title\":\"inconsistent length values for upload\"}\n";
	case STORE_PART_COMPLETE:
		return "{\"type\":\"" PROBLEM_TYPE "completed-upload\","
		       "\"title\":\"upload is already completed\"}\n";
	default:
		return NULL;
	}
}

bool store_resume_failed(struct store *s, int status)
{
	struct h2d_req *req = s->req;
	const struct store_part *p = s->work.part;
	const char *text = problem_text(s);

	if (status == 413)
		tell(req, SLICE("upload-limit"), limits(req));
	if (p->problem == STORE_PART_OFFSET || p->problem == STORE_PART_COMPLETE)
		tell_state(s, p->complete);
	/* All of it came, and to send it again would not help (4.4.2). */
	else if (p->doomed && p->last && status != 413)
		reply_add(req, SLICE("upload-complete"), SLICE("?1"));
	if (text == NULL)
		return false;
	h2d_reply_bytes(req, status, "application/problem+json", text, strlen(text));
	return true;
}

/* --- before anything is sent ------------------------------------------------------------------ */

void h2d_store_offer(struct h2d_req *req)
{
	if (req->site->upload_expires == 0)
		return;
	reply_add(req, SLICE("accept-patch"), SLICE(UPLOAD_MEDIA_TYPE));
	tell(req, SLICE("upload-limit"), limits(req));
}
