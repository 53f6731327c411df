/*
 * store_end: how an upload ends: the status that a failure is, the keepers' word on what was
 * stored, the handler's call, and its own memory. On the loop; never touches the disk.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "base/log.h"
#include "http/path.h"
#include "request/handler_call.h"
#include "request/req_client.h"
#include "store/store.h"
#include "store/store_sweep.h"

void store_free(struct store *s)
{
	COUNT(folders_walked, s->work.quota.walks);
	if (s->work.quota.doubted)
		store_sweep_soon();
	store_work_free(&s->work);
	body_pieces_free(s->pieces);
	body_pieces_free(s->rest);
	if (s->old != NULL)
		ref_put(&s->old->ref);
	if (s->root != NULL)
		ref_put(&s->root->ref);
	places_give(&s->disk->places, &s->place);
	disk_let_go(s->disk);
	free(s->asked);
	arena_reset(&s->arena);
	free(s);
	COUNT(uploads_live, -1);
}

void store_leave(struct store *s)
{
	s->req = NULL;
	loop_cancel(&s->pump);
	timer_disarm(&s->files->loop->wheel, &s->gather);
	for (unsigned i = 0; i < s->nasked; i++)
		doubt_client_cancel(&s->asked[i].doubt);
	places_leave(&s->disk->places, &s->place);
	if (s->busy && offload_cancel(s->disk->offload, &s->job))
		s->busy = false;
	if (!s->busy && !s->closed)
		store_submit(s, s->pieces != NULL || s->rest != NULL ? STORE_KEEP : STORE_DROP);
	if (!s->busy)
		store_free(s);
}

void store_answer(struct store *s, int status, const struct h2d_stored *files, unsigned n)
{
	struct h2d_req *req = s->req;
	struct crash_call call;

	handler_call_enter(&call, req, req->handler);
	s->done(req, req->handler_state, status, files, n);
	handler_call_exit();
	req_unhook(req);
	store_leave(s);
}

void store_fail(struct store *s, int status)
{
	struct h2d_req *req = s->req;

	if (status == 507)
		COUNT(limit_quota, 1);
	if (s->work.part == NULL || !store_resume_failed(s, status)) {
		store_answer(s, status, NULL, 0);
		return;
	}
	req_unhook(req);
	store_leave(s);
}

int store_wrong(const struct store *s, const struct err *err)
{
	err_log(err, req_client(s->req));
	req_record_error(&s->req->record, err);
	return err->status;
}

int store_status(const struct store *s)
{
	int status = 500;

	if (s->work.err != NULL && s->result >= 0)
		return store_wrong(s, s->work.err);
	if (s->result == ERR_UPLOAD_ROOM->status)
		return store_wrong(s, ERR_UPLOAD_ROOM);
	if (s->result >= 0)
		return s->result;
	switch (-s->result) {
	case EFBIG:
		return 413;
	case EISDIR:
		return 409;
	case ENAMETOOLONG:
		return 400;
	case ENOSPC:
	case EDQUOT:
		status = 507;
		break;
	case EACCES:
	case EPERM:
	case EROFS:
		status = 403;
		break;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
		status = 503;
		break;
	default:
		break;
	}
	log_peer(LEVEL_ERROR, "upload to %s%s: %s", s->tree, s->work.dir, strerror(-s->result));
	return status;
}

/* --- what was stored -------------------------------------------------------------------------- */

struct slice store_own_path(struct store *s, const char *name)
{
	return slice_str(arena_printf(&s->arena, "%s/%s", s->work.dir, name));
}

struct slice store_public_path(struct store *s, const char *name)
{
	struct slice asked = s->req->path;

	if (s->work.form == NULL)
		return slice_of(asked.p, asked.n - s->below);
	return slice_str(arena_printf(&s->arena, "%.*s/%s", SLICE_ARG(asked), name));
}

static const char *text(struct arena *a, struct slice s)
{
	return s.p != NULL ? arena_printf(a, "%.*s", SLICE_ARG(s)) : NULL;
}

static bool describe(struct store *s, const struct store_file *f, struct h2d_stored *d)
{
	struct arena *a = &s->arena;
	char *digest = f->summed ? arena_zalloc(a, DIGEST_FIELD_MAX + 1) : NULL;
	struct slice path = store_public_path(s, f->name);

	if (path.n > 0)
		path = path_encode(path, a);
	*d = (struct h2d_stored){ .name = f->name,
		.path = text(a, path),
		.size = f->size,
		.etag = f->etag.n > 0 ? text(a, etag_slice(&f->etag)) : NULL,
		.repr_digest = digest,
		.created = f->created };
	if (digest != NULL)
		digest_field_write(digest, DIGEST_SHA_256, f->sha256);
	return (digest != NULL || !f->summed) && d->path != NULL &&
	       (d->etag != NULL || f->etag.n == 0);
}

static int status_of_success(const struct store *s)
{
	const struct store_work *w = &s->work;

	if (w->form != NULL)
		return s->req->site->upload_status;
	return !w->removes && w->files[0]->created ? 201 : 204;
}

/* Every worker answers with them. */
static void succeed(struct store *s)
{
	const struct store_work *w = &s->work;
	struct h2d_stored *files = arena_zalloc(&s->arena, (w->nfiles + 1) * sizeof(*files));

	if (s->result != 0) {
		store_fail(s, store_status(s));
		return;
	}
	for (unsigned i = 0; files != NULL && i < w->nfiles; i++)
		if (!describe(s, w->files[i], &files[i]))
			files = NULL;
	if (files == NULL) {
		store_fail(s, ERR_NO_MEMORY->status);
		return;
	}
	COUNT(files_stored, w->nfiles);
	if (w->part != NULL)
		store_resume_placed(s);
	store_answer(s, status_of_success(s), files, w->nfiles);
}

/* --- the keepers' word ------------------------------------------------------------------------ */

static void marked(struct doubt *d)
{
	struct store *s = LIST_ENTRY(d, struct store_doubt, doubt)->store;

	if (--s->nwaits == 0)
		succeed(s);
}

static void ask(struct store *s, const char *name)
{
	struct store_doubt *d = &s->asked[s->nasked];

	d->store = s;
	d->doubt = (struct doubt){
		.dev = s->root->dev,
		.ino = s->root->ino,
		.path = store_own_path(s, name),
		.done = marked,
	};
	list_init(&d->doubt.node);
	if (d->doubt.path.n == 0)
		return;
	s->nasked++;
	s->nwaits += doubt_client_ask(&s->files->doubts, &d->doubt);
}

void store_succeed(struct store *s)
{
	const struct store_work *w = &s->work;
	unsigned n = w->removes ? 1 : w->nfiles;

	s->asked = calloc(n, sizeof(*s->asked));
	if (s->asked == NULL) {
		store_fail(s, ERR_NO_MEMORY->status);
		return;
	}
	s->nwaits = 1; /* this function */
	for (unsigned i = 0; i < n; i++)
		ask(s, w->removes ? w->name : w->files[i]->name);
	if (--s->nwaits == 0)
		succeed(s);
}
