/*
 * store: the beginning of an upload: what the request says, who may write, a place among the open
 * files. Called by handlers over h2d/handler.h; never blocks.
 */
#include "store/store.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "request/gate.h"
#include "request/handler_call.h"
#include "request/req_client.h"
#include "request/trace.h"

/* Of a form's files, with names as long as may be, the paths and what is said of them: the
 * request's memory is left to what their handler makes of it. */
enum { ARENA_CAP = 8 << 20 };

static struct store *store_of(struct h2d_req *req)
{
	return req->hook_state;
}

/* --- the request's side ----------------------------------------------------------------------- */

static void pump_task(struct task *t)
{
	store_pump(LIST_ENTRY(t, struct store, pump));
}

/* Pieces that come together are written together. */
static void on_body(struct h2d_req *req)
{
	struct store *s = store_of(req);

	loop_at_turn_end(s->files->loop, &s->pump);
}

static void on_gone(struct h2d_req *req)
{
	struct store *s = store_of(req);
	size_t n;

	/* Refused for its body, say, before it is known who may write: s is not there for the word.
	 */
	if (req->gate != NULL)
		gate_leave(req);
	if (s->taken > 0)
		req->stream->consume(req, s->taken);
	if (s->work.part != NULL) {
		s->rest = body_queue_take_all(&req->body_queue, &n);
		req->stream->consume(req, n);
	}
	store_leave(s);
}

static const struct req_hook upload_hook = { on_body, on_gone }, removal_hook = { NULL, on_gone };

/* --- who may ---------------------------------------------------------------------------------- */

/* The gate has answered. */
static void refused(struct store *s)
{
	req_unhook(s->req);
	store_leave(s);
}

static void granted(struct place *p)
{
	struct store *s = LIST_ENTRY(p, struct store, place);

	store_submit(s, s->first);
}

/* Others wait, and its client hardly sends. */
static bool back(struct place *p)
{
	store_fail(LIST_ENTRY(p, struct store, place), 503);
	return false;
}

static uint64_t came(struct place *p)
{
	const struct store *s = LIST_ENTRY(p, struct store, place);

	return store_waits(s) ? s->req->record.bytes_in : PLACES_BUSY;
}

static void take_place(struct store *s)
{
	/* The gate has said who it is. */
	if (s->work.part != NULL && !store_resume_user(s)) {
		store_fail(s, ERR_NO_MEMORY->status);
		return;
	}
	s->place.granted = granted;
	s->place.upload = true;
	s->place.back = back;
	s->place.came = came;
	if (places_take(&s->disk->places, s->req->conn->files, req_account(s->req), &s->place))
		granted(&s->place);
}

static void on_gate(struct h2d_req *req, enum gate_result result, void *ctx)
{
	struct store *s = ctx;

	(void)req;
	if (result != GATE_GO)
		refused(s);
	else if (s->work.form != NULL)
		store_gate_files(s);
	else
		take_place(s);
}

/* It must be said who may write the file of that name; "": any. */
static bool has_writers(struct store *s, const char *name)
{
	const struct h2d_req *req = s->req;
	struct slice path = store_own_path(s, name);

	if (req->location->writers || (path.n > 0 && site_location(req->site, path)->writers))
		return true;
	TRACE_STEP(s->req, WRITERS, NULL, "nothing says who may write \"%s\"", name);
	return false;
}

/* The names in a form are known behind its end; each has a path in the folder and one of /files. */
void store_gate_files(struct store *s)
{
	const struct store_work *w = &s->work;
	enum gate_result result = GATE_GO;

	while (s->req->site->guarded && s->gated < 2 * w->nfiles && result == GATE_GO) {
		const char *name = w->files[s->gated / 2]->name;
		struct slice path =
			s->gated % 2 == 0 ? store_public_path(s, name) : store_own_path(s, name);

		s->gated++;
		if (path.n == 0) {
			store_fail(s, ERR_NO_MEMORY->status);
			return;
		}
		if (!has_writers(s, name)) {
			store_fail(s, 403);
			return;
		}
		result = gate_pass_file(s->req, path, on_gate, s);
	}
	if (result == GATE_GO)
		store_submit(s, STORE_PLACE);
	else if (result == GATE_ANSWERED)
		refused(s);
}

/* --- what the request says -------------------------------------------------------------------- */

/* RFC 9110, 13.2.1: those that count for a change. */
static bool is_condition(const struct field *f)
{
	return (cond_fields(f, 1) &
		       (COND_IF_MATCH | COND_IF_NONE_MATCH | COND_IF_UNMODIFIED_SINCE)) != 0;
}

/* What the request says of the file that holds until it is in its place. */
static bool is_kept(const struct store *s, const struct field *f)
{
	return is_condition(f) ||
	       (s->work.part != NULL && (slice_eq(f->name, SLICE("repr-digest")) ||
						slice_eq(f->name, SLICE("want-repr-digest"))));
}

/* The fields of conditions, for a thread. */
static bool copy_conditions(struct store *s)
{
	const struct h2d_req *req = s->req;
	struct field *fields;
	unsigned n = 0;

	for (unsigned i = 0; i < req->nfields; i++)
		n += is_kept(s, &req->fields[i]);
	fields = arena_zalloc(&s->arena, (n + 1) * sizeof(*fields));
	n = 0;
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

/* The entity tags that clients may know the file by. */
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

/* What the request says of its content's form. 0, or the status that refuses it. */
static int check_coding(struct store *s)
{
	const struct h2d_req *req = s->req;
	const struct field *f = field_find(req->fields, req->nfields, SLICE("content-encoding"));

	/* A GET would give it without its coding. */
	if (f != NULL && !slice_ieq(f->value, SLICE("identity")))
		return store_wrong(s, ERR_CONTENT_CODING);
	/* RFC 9110, 14.5: a part would be taken for the whole. */
	if (field_find(req->fields, req->nfields, SLICE("content-range")) != NULL)
		return store_wrong(s, ERR_CONTENT_RANGE);
	s->work.length = req->body_length;
	return 0;
}

static int check_digests(struct store *s)
{
	static const struct slice names[] = { SLICE_LIT("content-digest"),
		SLICE_LIT("repr-digest") };
	const struct h2d_req *req = s->req;

	for (unsigned i = 0; i < 2; i++) {
		const struct err *err = digest_field_parse(
			req->fields, req->nfields, names[i], &s->work.digests[i]);

		if (err != NULL)
			return store_wrong(s, err);
		s->work.wants_digest |= digest_field_any(&s->work.digests[i]);
	}
	s->work.wants_digest |= digest_field_wanted(req->fields, req->nfields);
	return 0;
}

static int check_form(struct store *s)
{
	const struct h2d_req *req = s->req;
	const struct field *f = field_find(req->fields, req->nfields, SLICE("content-type"));
	const struct err *err;

	s->work.form = calloc(1, sizeof(*s->work.form));
	if (s->work.form == NULL)
		return ERR_NO_MEMORY->status;
	err = multipart_init(s->work.form, f != NULL ? f->value : SLICE(""), STORE_PARTS_MAX);
	return err != NULL ? store_wrong(s, err) : 0;
}

/* --- the calls -------------------------------------------------------------------------------- */

static struct store *new_store(struct h2d_req *req, h2d_stored_fn *done)
{
	struct files *files = req->env->files;
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	arena_init(&s->arena, NULL, 0, ARENA_CAP);
	task_init(&s->pump, pump_task);
	timer_init(&s->gather, store_gathered);
	s->req = req;
	s->done = done;
	s->files = files;
	s->disk = files->disk;
	disk_hold(s->disk);
	s->tree = s->disk->trees[req->site->root].path;
	s->root = s->disk->trees[req->site->root].root;
	if (s->root != NULL)
		ref_get(&s->root->ref);
	s->closed = true; /* nothing is open */
	s->work.at.fd = s->work.at.lock = s->work.quota.fd = -1;
	s->work.job = &s->job;
	COUNT(uploads_live, 1);
	return s;
}

/* What the job knows of the configuration. */
static bool set_up(struct store *s, bool named, struct slice name)
{
	const struct site *site = s->req->site;
	struct store_work *w = &s->work;

	w->dir = arena_printf(&s->arena, "%.*s", SLICE_ARG(site->uploads));
	w->overwrite = site->upload_overwrite;
	w->quota.max = site->upload_quota;
	w->max_file_size = s->disk->max_file_size;
	w->memo = s->disk->memo;
	w->now = s->req->env->date_s;
	if (named)
		w->name = arena_printf(&s->arena, "%.*s", SLICE_ARG(name));
	return w->dir != NULL && (!named || w->name != NULL) && copy_conditions(s);
}

/* What is asked of the store. */
struct call {
	enum { FILE_STORED, FORM_STORED, FILE_REMOVED, FILE_RESUMABLE, UPLOAD_RESUMED } what;
	struct slice name;  /* of a file; of a form they are in its body */
	struct slice token; /* of an upload that is resumed */
	h2d_stored_fn *done;
};

static enum store_step first_step(const struct h2d_req *req, const struct call *call)
{
	if (call->what == FILE_REMOVED)
		return STORE_REMOVE;
	if (call->what != UPLOAD_RESUMED || req->method == H2D_PATCH)
		return STORE_BEGIN;
	return req->method == H2D_HEAD ? STORE_LOOK : STORE_CANCEL;
}

/* What the body is, and is said to be. */
static int check_body(struct store *s, const struct call *call)
{
	int status = check_coding(s);

	if (status == 0)
		status = check_digests(s);
	return status == 0 && call->what == FORM_STORED ? check_form(s) : status;
}

/* 0, or the status of what is wrong with the request. */
static int check(struct store *s, const struct call *call)
{
	bool named = call->what != FORM_STORED;
	const struct err *err = named ? file_name_check(call->name) : NULL;
	int status = err != NULL ? store_wrong(s, err) : 0;

	if (status == 0 && call->what == FILE_RESUMABLE)
		status = store_resume_offered(s);
	if (status == 0 && !set_up(s, named, call->name))
		status = ERR_NO_MEMORY->status;
	if (status == 0 && !has_writers(s, named ? s->work.name : ""))
		status = 403;
	if (status == 0 && call->what == UPLOAD_RESUMED)
		status = store_resume_asked(s, call->token);
	if (status == 0)
		copy_etags(s);
	return status == 0 && s->first == STORE_BEGIN ? check_body(s, call) : status;
}

static void start(struct h2d_req *req, const struct call *call)
{
	enum gate_result result = GATE_GO;
	struct store *s = new_store(req, call->done);
	struct slice path;
	int status;

	if (s == NULL) {
		call->done(req, req->handler_state, ERR_NO_MEMORY->status, NULL, 0);
		return;
	}
	s->first = first_step(req, call);
	s->work.removes = s->first == STORE_REMOVE;
	req_hook(req, s->first == STORE_BEGIN ? &upload_hook : &removal_hook, s);
	status = s->root == NULL ? 404 : check(s, call);
	if (status != 0) {
		store_fail(s, status);
		return;
	}
	if (call->what != FORM_STORED) {
		path = store_own_path(s, s->work.name);
		if (path.n == 0) {
			store_fail(s, ERR_NO_MEMORY->status);
			return;
		}
		result = gate_pass_file(req, path, on_gate, s);
	}
	if (result == GATE_GO)
		take_place(s);
	else if (result == GATE_ANSWERED)
		refused(s);
}

void h2d_store(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done)
{
	start(req, &(struct call){ FILE_STORED, .name = HANDLER_SLICE(name, len), .done = done });
}

void h2d_store_form(struct h2d_req *req, h2d_stored_fn *done)
{
	start(req, &(struct call){ FORM_STORED, .done = done });
}

void h2d_store_remove(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done)
{
	start(req, &(struct call){ FILE_REMOVED, .name = HANDLER_SLICE(name, len), .done = done });
}

void h2d_store_resumable(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done)
{
	start(req,
		&(struct call){ FILE_RESUMABLE, .name = HANDLER_SLICE(name, len), .done = done });
}

void h2d_store_resume(struct h2d_req *req, const char *name, size_t len, const char *upload,
	size_t upload_len, h2d_stored_fn *done)
{
	start(req, &(struct call){ UPLOAD_RESUMED, .name = HANDLER_SLICE(name, len),
			   .token = HANDLER_SLICE(upload, upload_len), .done = done });
}
