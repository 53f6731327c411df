/*
 * store_end: the end of an upload: the log line and answer of a failure, the keepers' answers about
 * stored files, the handler's call, and a page for browsers, which cannot use JSON after a form. On
 * the loop; never touches the disk.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "base/human.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "http/coding.h"
#include "http/page.h"
#include "http/path.h"
#include "request/handler_call.h"
#include "request/req_client.h"
#include "store/store.h"

void store_answer(struct store *s, int status, const struct h2d_stored *files, unsigned n)
{
	struct h2d_req *req = s->req;

	store_go(s, STORE_ANSWER);
	if (s->listed != NULL)
		HANDLER_CALL_DO(req, s->listed(req, req->handler_state, status, NULL));
	else
		HANDLER_CALL_DO(req, s->done(req, req->handler_state, status, files, n));
	req_unhook(req);
	store_leave(s);
}

/* --- failures --------------------------------------------------------------------------------- */

/* Errors of system calls, and the client's error for each. */
static const struct {
	int error;
	const struct err *const *err;
} errors[] = { { EFBIG, &ERR_FILE_LARGE }, { EISDIR, &ERR_FILE_THERE },
	{ ENAMETOOLONG, &ERR_FILE_NAME_LONG }, { ENOSPC, &ERR_STORE_FULL },
	{ EDQUOT, &ERR_STORE_FULL }, { EACCES, &ERR_STORE_DENIED }, { EPERM, &ERR_STORE_DENIED },
	{ EROFS, &ERR_STORE_DENIED }, { EMFILE, &ERR_STORE_BUSY }, { ENFILE, &ERR_STORE_BUSY },
	{ ENOMEM, &ERR_STORE_BUSY }, { EAGAIN, &ERR_STORE_BUSY } };

static const struct err *err_of(int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return *errors[i].err;
	return ERR_STORE_BROKEN;
}

void store_fail(struct store *s, struct store_result r)
{
	const struct err *err = r.err != NULL ? r.err : err_of(r.error);
	struct h2d_req *req = s->req;

	if (r.error != 0 && err->level == LEVEL_ERROR) {
		log_peer(
			LEVEL_ERROR, "upload to %s%s: %s", s->tree, s->work.dir, strerror(r.error));
		COUNT(limit_quota, err == ERR_STORE_FULL);
	} else {
		req_fault(req, err);
	}
	if (s->work.part == NULL || !store_resume_failed(s, err)) {
		store_answer(s, err->status, NULL, 0);
		return;
	}
	store_go(s, STORE_ANSWER);
	req_unhook(req);
	store_leave(s);
}

/* --- stored files ----------------------------------------------------------------------------- */

struct slice store_own_path(struct store *s, const char *name)
{
	const char *folder = s->work.folder;

	return slice_str(arena_printf(
		&s->arena, "%s%s%s/%s", s->work.dir, folder[0] != '\0' ? "/" : "", folder, name));
}

struct slice store_public_path(struct store *s, const char *name)
{
	struct slice asked = s->req->path;

	if (s->work.form == NULL)
		return slice_of(asked.p, asked.n - s->below);
	asked.n -= asked.p[asked.n - 1] == '/';
	return slice_str(arena_printf(&s->arena, "%.*s/%s", SLICE_ARG(asked), name));
}

static const char *text(struct arena *a, struct slice s)
{
	return s.p != NULL ? arena_printf(a, "%.*s", SLICE_ARG(s)) : NULL;
}

static bool describe_file(struct store *s, const struct store_file *f, struct h2d_stored *d)
{
	struct arena *a = &s->arena;
	char digest[DIGEST_FIELD_MAX + 1] = "";
	struct slice path = store_public_path(s, f->name);
	struct etag etag = { 0 };

	if (path.n > 0)
		path = path_encode(path, a);
	if (f->summed && f->size <= s->work.max_file_size)
		etag_of_sha256(f->sha256, &etag);
	if (f->summed)
		digest_field_write(digest, DIGEST_SHA_256, f->sha256);
	*d = (struct h2d_stored){ .name = text(a, slice_str(f->name)),
		.path = text(a, path),
		.size = f->size,
		.etag = etag.n > 0 ? text(a, etag_slice(&etag)) : NULL,
		.repr_digest = f->summed ? text(a, slice_str(digest)) : NULL,
		.created = f->created };
	return (d->repr_digest != NULL || !f->summed) && d->name != NULL && d->path != NULL &&
	       (d->etag != NULL || etag.n == 0);
}

static int status_of_success(const struct store *s)
{
	const struct store_work *w = &s->work;

	if (w->form != NULL || w->tree.created)
		return 201;
	return w->nfiles > 0 && w->files[0]->created ? 201 : 204;
}

/* Answers when every worker has the files. */
static void succeed(struct store *s)
{
	const struct store_work *w = &s->work;
	struct h2d_stored *files = arena_zalloc(&s->arena, (w->nfiles + 1) * sizeof(*files));
	struct slice named = s->to_public.n > 0 ? s->to_public : s->req->path;

	if (!store_ok(s->result)) {
		store_fail(s, s->result);
		return;
	}
	for (unsigned i = 0; files != NULL && i < w->nfiles; i++)
		if (!describe_file(s, w->files[i], &files[i]))
			files = NULL;
	if (files != NULL && w->tree.created)
		files[0] =
			(struct h2d_stored){ .path = text(&s->arena, path_encode(named, &s->arena)),
				.created = true };
	if (files == NULL) {
		store_fail(s, store_errno(-ENOMEM));
		return;
	}
	COUNT(files_stored, w->nfiles);
	if (w->part != NULL)
		reply_add(s->req, SLICE("upload-complete"), SLICE("?1"));
	store_answer(s, status_of_success(s), files, w->nfiles + w->tree.created);
}

/* --- a list ----------------------------------------------------------------------------------- */

/* The store owns the list until the request is over: a slow client's lists count for it. */
void store_listed(struct store *s)
{
	struct h2d_req *req = s->req;
	struct store_tree *t = &s->work.tree;
	struct h2d_entry *v = (struct h2d_entry *)(void *)t->entries.p;
	const char *name = t->names.p;
	size_t size = t->entries.n + t->names.n, n = t->entries.n / sizeof(*v);

	if (size > budget_room(&s->files->lists, s->place.turn.account)) {
		reply_add(req, SLICE("retry-after"), SLICE("1"));
		store_fail(s, store_refuse(ERR_LISTS));
		return;
	}
	budget_take(&s->files->lists, s->place.turn.account, size);
	for (size_t i = 0; i < n; i++, name += strlen(name) + 1)
		v[i].name = name;
	s->listing = (struct h2d_listing){
		.entries = v,
		.n = n,
		.etag = t->etag.n > 0 ? text(&s->arena, etag_slice(&t->etag)) : NULL,
		.used = t->used_bytes,
		.quota = s->work.quota.max,
	};
	store_go(s, STORE_ANSWER);
	HANDLER_CALL_DO(req, s->listed(req, req->handler_state, 207, &s->listing));
}

/* --- the keepers' answers --------------------------------------------------------------------- */

static void marked(struct doubt *d)
{
	struct store *s = d->owner;

	if (--s->nwaits == 0)
		succeed(s);
}

static void ask_keepers(struct store *s, struct slice path)
{
	struct doubt *d = &s->asked[s->nasked];

	if (path.n == 0)
		return;
	*d = (struct doubt){
		.dev = s->root->dev,
		.ino = s->root->ino,
		.path = path,
		.done = marked,
		.owner = s,
	};
	s->nasked++;
	s->nwaits += doubt_client_ask(&s->files->doubts, d);
}

void store_tell(struct store *s)
{
	const struct store_work *w = &s->work;
	unsigned n = w->nfiles > 0 ? w->nfiles : 1;
	bool moved = s->to_own.n > 0;

	store_go(s, STORE_TELL);
	s->asked = calloc(n + moved, sizeof(*s->asked));
	if (s->asked == NULL) {
		store_fail(s, store_errno(-ENOMEM));
		return;
	}
	s->nwaits = 1; /* for this function */
	for (unsigned i = 0; i < n; i++)
		ask_keepers(s, store_own_path(s, w->nfiles > 0 ? w->files[i]->name : w->name));
	if (moved)
		ask_keepers(s, s->to_own);
	if (--s->nwaits == 0)
		succeed(s);
}

/* --- a page for people ------------------------------------------------------------------------ */

/* The path of the directory's listing, encoded; NULL: none, or memory is out. */
static const char *listing_of(struct store *s)
{
	const struct site *site = s->req->site;
	struct slice path = store_own_path(s, "");
	const struct location *location;

	if (path.n == 0)
		return NULL;
	location = site_location(site, path);
	if (!location->autoindex || location->root != site->root || location->returned != NULL)
		return NULL;
	path = path_encode(path, &s->arena);
	return path.n > 0 ? arena_printf(&s->arena, "%.*s", SLICE_ARG(path)) : NULL;
}

static void write_file(const struct h2d_stored *file, struct strbuf *t)
{
	char size[HUMAN_SIZE];

	strbuf_add(t, SLICE("<tr><td><a href=\""));
	strbuf_html(t, slice_str(file->path));
	strbuf_add(t, SLICE("\"><bdi>"));
	strbuf_html(t, slice_str(file->name));
	strbuf_printf(t, "</bdi></a></td><td>%s</td></tr>\n", human_bytes(size, file->size));
}

static void write_page(const struct h2d_stored *files, size_t n, struct strbuf *t)
{
	strbuf_printf(t,
		"%s%zu file%s stored</title>\n%s</head>\n<body>\n<main>\n<h1>%zu file%s "
		"stored</h1>\n"
		"<table>\n<tbody>\n",
		page_head, n, n == 1 ? "" : "s", page_list_style, n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++)
		write_file(&files[i], t);
	strbuf_add(t, SLICE("</tbody>\n</table>\n</main>\n</body>\n</html>\n"));
}

static void reply_page(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n)
{
	struct strbuf t = { 0 };

	write_page(files, n, &t);
	if (t.failed || reply_page_policy(req) < 0 ||
		h2d_reply_header(req, "location", files->path) < 0)
		h2d_reply_error(req, ERR_NO_MEMORY->status);
	else
		h2d_reply_bytes(req, status, "text/html; charset=utf-8", t.p, t.n);
	strbuf_fini(&t);
}

bool h2d_store_show(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n)
{
	struct store *s = req->hook_state;
	const char *listing;

	HANDLER_CALL();
	if (accept_weight(req->fields, req->nfields, SLICE("text/html")) <=
		accept_weight(req->fields, req->nfields, SLICE("application/json")))
		return false;
	listing = listing_of(s);
	if (listing != NULL && h2d_reply_header(req, "location", listing) == 0)
		h2d_reply_bytes(req, 303, NULL, NULL, 0);
	else
		reply_page(req, status, files, n);
	return true;
}
