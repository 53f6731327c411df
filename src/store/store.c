/*
 * store: the calls of h2d/handler.h that store and remove files (h2d_store…): reads the request and
 * chooses its plan. Never blocks.
 */
#include "store/store.h"

#include <stdlib.h>

#include "base/counters.h"
#include "http/ws.h"
#include "request/handler_call.h"
#include "request/req_client.h"

/* Memory for the paths and descriptions of a form's files, with names of any legal length; the
 * request's own is left to its handler. */
enum { ARENA_CAP = 8 << 20 };

/* --- the request ------------------------------------------------------------------------------ */

/* True: a condition that counts for a change (RFC 9110, 13.2.1), or a digest of content that may
 * come in several requests. */
static bool is_kept(const struct store *s, const struct field *f)
{
	const unsigned change = COND_IF_MATCH | COND_IF_NONE_MATCH | COND_IF_UNMODIFIED_SINCE;
	bool digest = slice_eq(f->name, SLICE("repr-digest")) ||
		      slice_eq(f->name, SLICE("want-repr-digest"));

	if (s->plan == &store_list)
		return false;
	return (cond_fields(f, 1) & change) != 0 || (s->work.part != NULL && digest) ||
	       (s->work.tree.drive && slice_eq(f->name, SLICE("if")));
}

/* Copies the headers that are needed until the file is in its place. */
static bool copy_conditions(struct store *s)
{
	const struct h2d_req *req = s->req;
	struct field *fields = arena_alloc(&s->arena, (req->nfields + 1) * sizeof(*fields));
	unsigned n = 0;

	for (unsigned i = 0; fields != NULL && i < req->nfields; i++) {
		const struct field *f = &req->fields[i];

		if (!is_kept(s, f))
			continue;
		fields[n].name = arena_dup(&s->arena, f->name);
		fields[n].value = arena_dup(&s->arena, f->value);
		if (fields[n].name.p == NULL || fields[n].value.p == NULL)
			return false;
		n++;
	}
	s->work.fields = fields;
	s->work.nfields = n;
	return fields != NULL;
}

static void copy_etag(struct etag *to, const struct image_body *from)
{
	if (from->n == 0)
		return;
	memcpy(to->text, from->etag, IMAGE_ETAG);
	to->n = IMAGE_ETAG;
}

/* Copies the entity tags that clients may have for the file. */
static void copy_etags(struct store *s)
{
	const struct image_entry *e = NULL;
	struct slice path = { 0 };

	if (s->work.name != NULL && (s->work.nfields > 0 || s->work.part != NULL) &&
		s->files->image != NULL)
		path = store_own_path(s, s->work.name);
	if (path.n > 0)
		e = image_map_find(s->files->image, s->req->site->root, path, clock_ms());
	if (e == NULL)
		return;
	copy_etag(&s->work.known, &e->body);
	for (unsigned c = 0; c < CODINGS; c++)
		copy_etag(&s->work.coded[c], &e->variants[c]);
}

/* Reads the request's headers about its content. */
static const struct err *check_body(struct store *s)
{
	static const struct slice names[] = { SLICE_LIT("content-digest"),
		SLICE_LIT("repr-digest") };
	const struct field *fields = s->req->fields, *f;
	unsigned n = s->req->nfields;
	struct store_work *w = &s->work;
	const struct err *err = NULL;

	/* A GET would return it without its coding. */
	f = field_find(fields, n, SLICE("content-encoding"));
	if (f != NULL && !slice_ieq(f->value, SLICE("identity")))
		return ERR_CONTENT_CODING;
	/* RFC 9110, 14.5: a part would be taken for the whole. */
	if (field_find(fields, n, SLICE("content-range")) != NULL)
		return ERR_CONTENT_RANGE;
	for (unsigned i = 0; err == NULL && i < 2; i++)
		err = digest_field_parse(fields, n, names[i], &w->digests[i]);
	w->wants_digest = digest_field_any(&w->digests[0]) || digest_field_any(&w->digests[1]) ||
			  digest_field_wanted(fields, n);
	w->length = s->req->body_length;
	return err;
}

static const struct err *check_form(struct store *s)
{
	const struct h2d_req *req = s->req;
	const struct field *f = field_find(req->fields, req->nfields, SLICE("content-type"));

	s->work.form = calloc(1, sizeof(*s->work.form));
	if (s->work.form == NULL)
		return ERR_NO_MEMORY;
	return multipart_init(s->work.form, f != NULL ? f->value : SLICE(""), STORE_FORM_PARTS);
}

/* --- the calls -------------------------------------------------------------------------------- */

static struct store *new_store(struct h2d_req *req, const struct store_call *c)
{
	struct files *files = req->env->files;
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	arena_init(&s->arena, NULL, 0, ARENA_CAP);
	s->req = req;
	s->done = c->done;
	s->listed = c->listed;
	s->plan = c->plan;
	s->files = files;
	s->disk = files->disk;
	ref_get(&s->disk->ref);
	s->tree = s->disk->trees[req->site->root].path;
	s->root = s->disk->trees[req->site->root].root;
	if (s->root != NULL)
		ref_get(&s->root->ref);
	s->work.at.fd = s->work.at.to = s->work.at.lock = s->work.quota.fd = -1;
	s->work.tree.into = -1;
	s->work.tree.drive = req->location->upload != NULL && req->location->webdav;
	s->work.tree.how = c->how;
	s->work.at.depth = req->site->uploads_depth;
	s->work.job = &s->job;
	COUNT(uploads_live, 1);
	return s;
}

/* Cuts off the directories before the name of a file; a form's path has no name. */
static struct slice cut_folder(const struct store *s, struct slice *name)
{
	struct slice path = *name;

	if (s->plan == &store_form)
		return path;
	*name = file_name_last(path);
	return slice_of(path.p, name->n < path.n ? path.n - name->n - 1 : 0);
}

/* Copies the parts of configuration and request that jobs need. */
static const struct err *set_up(struct store *s, struct slice name)
{
	bool named = s->plan != &store_form;
	struct slice folder = cut_folder(s, &name), own = s->req->location->store_folder;
	const struct site_upload *upload = s->req->location->upload;
	const struct site *site = s->req->site;
	struct store_work *w = &s->work;

	w->dir = upload != NULL ? arena_printf(&s->arena, "%.*s", SLICE_ARG(upload->dir)) : "";
	w->overwrite = site->upload_overwrite;
	w->quota.max = site->upload_quota;
	w->folder = arena_printf(&s->arena, "%.*s%s%.*s", SLICE_ARG(own),
		own.n > 0 && folder.n > 0 ? "/" : "", SLICE_ARG(folder));
	w->max_file_size = s->disk->max_file_size;
	w->now = s->req->env->date_s;
	w->tree.strict = w->tree.drive && s->req->method == H2D_PUT;
	if (named)
		w->name = arena_printf(&s->arena, "%.*s", SLICE_ARG(name));
	if (w->dir == NULL || w->folder == NULL || (named && w->name == NULL) ||
		!copy_conditions(s))
		return ERR_NO_MEMORY;
	return s->plan == &store_list || store_gate_has_writers(s, named ? w->name : "")
		       ? NULL
		       : ERR_UPLOAD_WRITERS;
}

static struct slice header(const struct h2d_req *req, struct slice name)
{
	const struct field *f = field_find(req->fields, req->nfields, name);

	return f != NULL ? f->value : (struct slice){ 0 };
}

/* True: a page of another site sends a form with the password that the browser has for this one.
 * With other methods, and with upload-complete, browsers ask first (Fetch, 3.2.2). */
static bool is_foreign(const struct store *s)
{
	const struct h2d_req *req = s->req;
	struct slice origin = header(req, SLICE("origin"));
	struct slice from = header(req, SLICE("sec-fetch-site"));

	for (unsigned i = 0; i < req->site->nupload_origins; i++)
		if (slice_ieq(origin, slice_str(req->site->upload_origins[i])))
			return false;
	if (req->method != H2D_POST || s->plan == &store_resumable)
		return false;
	if (from.n > 0)
		return !slice_eq(from, SLICE("same-origin")) && !slice_eq(from, SLICE("none"));
	return origin.n > 0 && !ws_origin_same(origin, req->authority, req_client_https(req));
}

/* Checks the request; NULL: no error. */
static const struct err *check_request(struct store *s, const struct store_call *c)
{
	bool is_form = s->plan == &store_form, lists = s->plan == &store_list;
	const struct err *err;
	struct slice path = c->path;

	if (s->root == NULL || (s->plan->drive && !s->work.tree.drive))
		return ERR_UPLOAD_FOLDER;
	/* A directory may be named with its slash. */
	if (s->work.tree.drive && !store_takes_body(s->plan) && slice_ends(path, SLICE("/")))
		path.n--;
	/* No name that is refused to an upload is on a drive. */
	err = store_path_check(s, path);
	if (err != NULL && lists)
		err = ERR_FILE_NONE;
	if (err == NULL && s->plan == &store_resumable && c->token.p == NULL)
		err = store_resume_offered(s, path);
	if (err == NULL)
		err = is_foreign(s) ? ERR_UPLOAD_ORIGIN : set_up(s, path);
	if (err == NULL && s->work.tree.drive)
		err = store_path_ask(s, c->destination);
	if (err == NULL && c->token.p != NULL)
		err = store_resume_asked(s, path, c->token);
	if (err != NULL)
		return err;
	copy_etags(s);
	err = store_takes_body(s->plan) ? check_body(s) : NULL;
	return err == NULL && is_form ? check_form(s) : err;
}

static void start(struct h2d_req *req, const struct store_call *c)
{
	struct store *s;
	const struct err *err;

	HANDLER_MUST(req, req->owes, STORE);
	HANDLER_MUST(req, req->hook == NULL, STORES);
	HANDLER_MUST(req, !store_takes_body(c->plan) || req_body_is_whole(req), REST);
	s = new_store(req, c);
	if (s == NULL && c->listed != NULL)
		c->listed(req, req->handler_state, ERR_NO_MEMORY->status, NULL);
	else if (s == NULL)
		c->done(req, req->handler_state, ERR_NO_MEMORY->status, NULL, 0);
	if (s == NULL)
		return;
	store_hook(s);
	err = check_request(s, c);
	/* The client may request a resumable upload, and did not. */
	if (c->plan == &store_resumable && s->work.part == NULL)
		s->plan = &store_whole;
	if (err != NULL)
		store_fail(s, store_refuse(err));
	else
		store_gate(s);
}

static void start_upload(
	struct h2d_req *req, const struct store_plan *plan, struct slice path, h2d_stored_fn *done)
{
	start(req, &(struct store_call){ .plan = plan, .path = path, .done = done });
}

void h2d_store(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done)
{
	HANDLER_CALL();
	start_upload(req, &store_whole, HANDLER_SLICE(req, name, len), done);
}

void h2d_store_form(struct h2d_req *req, h2d_stored_fn *done)
{
	HANDLER_CALL();
	start_upload(req, &store_form, slice_of(NULL, 0), done);
}

void h2d_store_form_in(struct h2d_req *req, const char *directory, size_t len, h2d_stored_fn *done)
{
	HANDLER_CALL();
	start_upload(req, &store_form, HANDLER_SLICE(req, directory, len), done);
}

void h2d_store_remove(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done)
{
	struct slice path = HANDLER_SLICE(req, name, len);

	HANDLER_CALL();
	start_upload(req,
		req->location->upload != NULL && req->location->webdav ? &store_clear
								       : &store_remove,
		path, done);
}

void h2d_store_resumable(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done)
{
	HANDLER_CALL();
	start_upload(req, &store_resumable, HANDLER_SLICE(req, name, len), done);
}

void h2d_store_resume(struct h2d_req *req, const char *name, size_t len, const char *upload,
	size_t upload_len, h2d_stored_fn *done)
{
	const struct store_plan *plan = req->method == H2D_PATCH  ? &store_resumable
					: req->method == H2D_HEAD ? &store_look
								  : &store_cancel;

	HANDLER_CALL();
	start(req, &(struct store_call){
			   .plan = plan,
			   .path = HANDLER_SLICE(req, name, len),
			   .token = HANDLER_SLICE(req, upload, upload_len),
			   .done = done,
		   });
}

/* --- a drive ---------------------------------------------------------------------------------- */

void h2d_store_list(
	struct h2d_req *req, const char *path, size_t len, bool members, h2d_listed_fn *done)
{
	HANDLER_CALL();
	start(req, &(struct store_call){
			   .plan = &store_list,
			   .path = HANDLER_SLICE(req, path, len),
			   .listed = done,
			   .how = members ? H2D_COPY_WHOLE : 0,
		   });
}

void h2d_store_make(struct h2d_req *req, const char *path, size_t len, h2d_stored_fn *done)
{
	HANDLER_CALL();
	start_upload(req, &store_make, HANDLER_SLICE(req, path, len), done);
}

void h2d_store_copy(struct h2d_req *req, const char *path, size_t len, const char *destination,
	unsigned how, h2d_stored_fn *done)
{
	HANDLER_CALL();
	start(req, &(struct store_call){
			   .plan = how & H2D_COPY_MOVE ? &store_move : &store_copy,
			   .path = HANDLER_SLICE(req, path, len),
			   .destination = slice_str(destination),
			   .done = done,
			   .how = how,
		   });
}
