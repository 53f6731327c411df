/*
 * store_part_body: the body of a request to a resumable upload: written, checked, and placed with
 * the last part. Steps run in threads; each enters by the ticket before it changes files.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/store_part.h"

enum {
	READ_PIECE = 256 << 10,
	READ_PORTION = 64 << 20, /* of one job, so that other uploads have their turn */
	SYNC_AFTER = 16 << 20,
};

/* --- the body --------------------------------------------------------------------------------- */

static struct store_result write_pieces(struct store_work *w, struct iovec *v, int n, size_t size)
{
	struct store_part *p = w->part;
	bool too_long = size > p->length - w->size;
	struct store_result r;

	/* 4.4.2 of the draft: an upload that exceeds its length cannot continue. */
	if (too_long || size > p->max - w->size) {
		p->left = STORE_PART_NONE;
		return store_refuse(too_long ? ERR_UPLOAD_LENGTH : ERR_BODY_TOO_LARGE);
	}
	r = store_work_write(w, v, n, size);
	if (r.err == ERR_UPLOAD_ROOM)
		p->left = STORE_PART_TOLD;
	return r;
}

static struct store_result take_pieces(struct store_work *w, const struct body_piece *pieces)
{
	struct store_result r = store_ticket_enter(&w->part->ticket);

	if (!store_ok(r))
		return r;
	r = store_work_pieces(w, pieces, write_pieces);
	/* Another machine that continues it must find it. */
	if (store_ok(r) && w->at.shared && pieces != NULL)
		r = store_errno(store_dir_sync(w->last->fd));
	store_ticket_leave(&w->part->ticket);
	return r;
}

struct store_result store_part_take(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_result r = take_pieces(w, w->pieces);

	/* A body with a digest may have to be sent again: its offset is told only at the end. */
	if (!store_ok(r) || w->size - p->synced < SYNC_AFTER || digest_field_any(&w->digests[0]))
		return r;
	r = store_errno(store_dir_sync(w->last->fd));
	if (store_ok(r))
		p->offset = p->synced = w->size;
	return r;
}

struct store_result store_part_keep(struct store_work *w)
{
	struct store_result r = take_pieces(w, w->pieces);

	return store_ok(r) ? take_pieces(w, w->rest) : r;
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Cuts the part down to size. 0, or -errno. */
static int cut_part(struct store_work *w, uint64_t size)
{
	uint64_t gone = store_dir_cost(w->size) - store_dir_cost(size);
	int rc = store_quota_begin(&w->quota, &w->at);

	if (rc < 0)
		return rc;
	if (ftruncate(w->last->fd, (off_t)size) < 0)
		rc = -errno;
	store_quota_end(&w->quota, &w->at, false, rc == 0 ? gone : 0);
	return rc;
}

/* Checks the body against the client's digests: wrong content is not appended. */
static struct store_result check_content(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_result r = store_work_compare(w);
	int rc = 0;

	if (r.err == NULL)
		return r;
	if (p->goes_on)
		rc = cut_part(w, p->begun);
	else
		p->left = STORE_PART_NONE;
	w->size = p->begun;
	return rc < 0 ? store_errno(rc) : r;
}

/* Checks the part, which has this request's length, and syncs it. */
static struct store_result end_body(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_result r = store_ticket_enter(&w->part->ticket);

	if (!store_ok(r))
		return r;
	r = check_content(w);
	store_ticket_leave(&w->part->ticket);
	if (store_ok(r) && p->last && p->length != BODY_UNKNOWN && p->length != w->size) {
		p->left = STORE_PART_NONE;
		r = store_refuse(ERR_UPLOAD_LENGTH);
	}
	if (!store_ok(r) || p->last)
		return r;
	r = store_errno(store_part_sync(w, w->last->fd));
	if (store_ok(r))
		p->offset = w->size;
	return r;
}

/* True if the whole must be read again. */
static bool is_unread(const struct store_work *w)
{
	return w->part->goes_on && w->part->hashed < w->size && w->size <= w->last->sum_max;
}

/* Hashes the part up to end. 0, or -errno. */
static int read_to(struct store_work *w, char *buf, uint64_t end)
{
	struct store_part *p = w->part;
	int rc = 0;

	while (rc == 0 && p->hashed < end) {
		ssize_t n =
			TEMP_FAILURE_RETRY(pread(w->last->fd, buf, READ_PIECE, (off_t)p->hashed));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		rc = store_sum_add(&w->last->sum, buf, (size_t)n);
		p->hashed += (uint64_t)n;
		if (w->job != NULL && job_unwanted(w->job))
			rc = -ECANCELED;
	}
	return rc;
}

/* Ends the file's hashes, and compares the client's. */
static struct store_result end_file(struct store_work *w)
{
	struct store_file *f = w->last;
	struct digest_field other = w->digests[1];
	struct store_result r =
		store_errno(w->part->goes_on && w->size == 0 ? store_part_want_sums(w) : 0);

	/* The file's own is computed once, and compared afterwards. */
	other.given[DIGEST_SHA_256] = false;
	if (store_ok(r))
		r = store_sum_compare(&f->sum, &other, 1);
	if (store_ok(r))
		r = store_errno(store_file_end(f));
	if (store_ok(r))
		r = store_refuse(digest_field_compare(&w->digests[1], DIGEST_SHA_256, f->sha256));
	if (r.err != NULL)
		w->part->left = STORE_PART_NONE;
	return r;
}

/* Gives the file its name; the ticket is entered. */
static struct store_result name_file(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_ticket *t = &p->ticket;
	struct store_result r;

	t->head.size = w->size;
	r = store_errno(store_ticket_write(t, STORE_TICKET_PLACING));
	if (!store_ok(r))
		return r;
	r = store_work_name(w);
	p->complete = store_ok(r);
	if (r.err != NULL && r.err != ERR_UPLOAD_ROOM)
		p->left = STORE_PART_NONE;
	/* A ticket that cannot be written is in PLACING: the part exists, or it is the file. */
	store_ticket_write(t, store_ok(r) ? STORE_TICKET_PLACED : STORE_TICKET_OPEN);
	return r;
}

/* Places the file, once the upload is complete and hashed. */
static struct store_result place_whole(struct store_work *w)
{
	struct store_result r;

	if (!w->part->last || is_unread(w))
		return STORE_OK;
	if (w->job != NULL && job_unwanted(w->job))
		return store_errno(-ECANCELED);
	r = end_file(w);
	if (store_ok(r))
		r = store_ticket_enter(&w->part->ticket);
	if (!store_ok(r))
		return r;
	r = name_file(w);
	store_ticket_leave(&w->part->ticket);
	return store_ok(r) ? store_work_named(w) : r;
}

struct store_result store_part_seal(struct store_work *w)
{
	struct store_result r = take_pieces(w, w->pieces);

	if (store_ok(r))
		r = end_body(w);
	return store_ok(r) ? place_whole(w) : r;
}

struct store_result store_part_read(struct store_work *w)
{
	struct store_part *p = w->part;
	uint64_t left = w->size - p->hashed;
	char *buf = malloc(READ_PIECE);
	int rc = buf == NULL ? -ENOMEM : p->hashed == 0 ? store_part_want_sums(w) : 0;

	if (rc == 0)
		rc = read_to(w, buf, p->hashed + (left < READ_PORTION ? left : READ_PORTION));
	free(buf);
	return rc == 0 ? place_whole(w) : store_errno(rc);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Removes this request's bytes if there is no room for the rest: uploads would take it from each
 * other. The ticket is entered. */
static void take_back(struct store_work *w)
{
	const struct store_part *p = w->part;

	if (p->left == STORE_PART_TOLD && (p->goes_on || p->offset > 0))
		cut_part(w, p->offset); /* or it stays, until it expires */
	else
		store_part_remove(w);
}

void store_part_close(struct store_work *w)
{
	struct store_part *p = w->part;

	if (p->left != STORE_PART_ALL && p->ticket.fd >= 0 &&
		store_ok(store_ticket_enter(&w->part->ticket))) {
		take_back(w);
		store_ticket_leave(&w->part->ticket);
	}
	if (w->last != NULL && !p->complete)
		w->last->hidden[0] = '\0';
	store_ticket_close(&p->ticket);
	w->fields = NULL;
	w->nfields = 0;
}
