/*
 * store_part: begins, continues, queries and ends a resumable upload. Steps run in threads; each
 * enters by the ticket before it changes files.
 */
#include "store/store_part.h"

#include <errno.h>
#include <unistd.h>

#include "request/body.h"

/* Agrees on the length of the whole: a known one must not contradict this request's (4.1.3 of the
 * draft). */
static struct store_result agree(struct store_work *w, uint64_t known)
{
	struct store_part *p = w->part;
	uint64_t end = w->length == BODY_UNKNOWN ? BODY_UNKNOWN : w->size + w->length;
	uint64_t length = BODY_UNKNOWN;
	const uint64_t said[] = { known, p->length, p->last ? end : BODY_UNKNOWN };

	for (unsigned i = 0; i < 3; i++) {
		if (said[i] == BODY_UNKNOWN)
			continue;
		if (length != BODY_UNKNOWN && said[i] != length)
			return store_refuse(ERR_UPLOAD_LENGTH);
		length = said[i];
	}
	if (w->size > p->max)
		return store_refuse(ERR_BODY_TOO_LARGE);
	if (length < w->size || (end != BODY_UNKNOWN && end > length))
		return store_refuse(ERR_UPLOAD_LENGTH);
	if ((end != BODY_UNKNOWN && end > p->max) || (length != BODY_UNKNOWN && length > p->max))
		return store_refuse(ERR_BODY_TOO_LARGE);
	p->length = length;
	return STORE_OK;
}

/* Measures the bytes that this request will add, if their number is known; fixed: other costs. */
static struct store_result measure(struct store_work *w, uint64_t fixed)
{
	uint64_t length = w->part->length;

	length = length != BODY_UNKNOWN ? length - w->size : w->length;
	return store_rules_measure(
		w, length, fixed + store_dir_cost(w->size + length) - store_dir_cost(w->size));
}

/* --- the two files ---------------------------------------------------------------------------- */

/* Makes the part, open at fd, a file of w for appending. 0, or -errno. */
static int adopt_part(struct store_work *w, int fd)
{
	char hidden[STORE_HIDDEN_NAME];
	struct store_file *f = store_work_new_file(w);

	if (f == NULL) {
		close(fd);
		return -ENOMEM;
	}
	store_dir_token_name(w->part->ticket.token, STORE_DIR_PART, hidden);
	return store_file_adopt(f, fd, slice_str(w->name), hidden, w->size, store_work_sum_max(w));
}

/* The cost of the ticket, and of its part without bytes. */
static uint64_t files_cost(const struct store_work *w)
{
	return store_ticket_cost(w->part->path, w->part->user, w->fields, w->nfields) +
	       STORE_DIR_FILE;
}

/* Makes the ticket and its part: the part's descriptor, or -errno. */
static int create_files(struct store_work *w)
{
	struct store_part *p = w->part;
	int fd = store_quota_begin(&w->quota, &w->at);

	if (fd < 0)
		return fd;
	fd = store_ticket_create(
		&p->ticket, &w->at, p->path, p->user, w->fields, w->nfields, p->length);
	store_quota_end(&w->quota, &w->at, false, fd < 0 ? files_cost(w) : 0);
	return fd;
}

void store_part_remove(struct store_work *w)
{
	struct store_ticket *t = &w->part->ticket;
	bool counted = store_quota_begin(&w->quota, &w->at) == 0;
	uint64_t gone = store_ticket_cost(t->name, t->user, t->fields, t->nfields) +
			store_ticket_part_cost(t, &w->at);

	store_ticket_remove(t, &w->at);
	if (counted)
		store_quota_end(&w->quota, &w->at, false, gone);
}

int store_part_sync(const struct store_work *w, int part)
{
	int rc = store_dir_sync(part);

	if (rc == 0)
		rc = store_dir_sync(w->part->ticket.fd);
	return rc == 0 ? store_dir_sync(w->at.fd) : rc;
}

/* --- beginning -------------------------------------------------------------------------------- */

int store_part_want_sums(struct store_work *w)
{
	struct store_sum *sum = &w->last->sum;
	int rc = store_sum_want(sum, DIGEST_SHA_256);

	return rc == 0 ? store_sum_want_given(sum, &w->digests[1], 1) : rc;
}

static struct store_result create_part(struct store_work *w)
{
	int fd = create_files(w), rc = fd < 0 ? fd : adopt_part(w, fd);

	if (rc == 0)
		rc = store_part_want_sums(w);
	w->part->left = rc == 0 ? STORE_PART_ALL : STORE_PART_NONE;
	return store_errno(rc);
}

static struct store_result begin_new(struct store_work *w)
{
	struct store_there there;
	struct store_result r = store_rules_check_name(w, w->name, &there);

	if (!store_ok(r))
		return r;
	w->replaced = store_rules_cost(&there);
	r = measure(w, files_cost(w));
	if (store_ok(r))
		r = agree(w, BODY_UNKNOWN);
	if (store_ok(r) && w->part->last)
		r = store_work_add_folders(w);
	/* Last, as it is kept whatever follows. */
	if (store_ok(r))
		r = store_quota_ask(
			&w->quota, &w->at, STORE_QUOTA_KEEP, files_cost(w), w->replaced);
	return store_ok(r) ? create_part(w) : r;
}

/* True if the upload is this file's and this user's; others get "none". */
static bool is_mine(const struct store_work *w, const struct store_ticket *t)
{
	return strcmp(t->name, w->part->path) == 0 &&
	       (t->user[0] == '\0' || strcmp(t->user, w->part->user) == 0);
}

/*
 * Opens the part; the ticket is entered. If names are cached for a while the part's may be that of
 * the file it became on another machine: that is never appended to. Errors of store_ticket_part().
 */
static int open_part(const struct store_work *w, uint64_t *size)
{
	const struct store_ticket *t = &w->part->ticket;
	uint64_t complete = *size;
	int fd;

	store_dir_refresh(&w->at);
	fd = store_ticket_part(t, &w->at, size);
	if (fd < 0 || t->head.stage != STORE_TICKET_PLACED)
		return fd;
	close(fd);
	*size = complete;
	return -ENOENT;
}

/*
 * Finds the upload and claims it. *fd: the part, and the ticket is entered; -1, and the ticket is
 * not: the upload is the file already, or that failed.
 */
static struct store_result claim(struct store_work *w, int *fd)
{
	struct store_part *p = w->part;
	struct store_ticket *t = &p->ticket;
	struct store_result r = store_ticket_open(t, &w->at);

	*fd = -1;
	if (store_ok(r))
		r = is_mine(w, t) ? store_ticket_claim(t, w->job) : store_refuse(ERR_UPLOAD_NONE);
	if (!store_ok(r))
		return r;
	p->offset = t->head.size;
	*fd = open_part(w, &p->offset);
	if (*fd >= 0)
		return STORE_OK;
	store_ticket_leave(&w->part->ticket);
	p->complete = *fd == -ENOENT && t->head.stage != STORE_TICKET_OPEN;
	if (p->complete)
		return STORE_OK;
	return *fd == -ENOENT ? store_refuse(ERR_UPLOAD_NONE) : store_errno(*fd);
}

/* Takes conditions and digests from the ticket: the first request set them for the whole. */
static struct store_result remember(struct store_work *w, const struct store_ticket *t)
{
	w->fields = t->fields;
	w->nfields = t->nfields;
	if (digest_field_parse(t->fields, t->nfields, SLICE("repr-digest"), &w->digests[1]) != NULL)
		return store_refuse(ERR_UPLOAD_NONE);
	w->wants_digest =
		digest_field_wanted(t->fields, t->nfields) || digest_field_any(&w->digests[1]);
	return STORE_OK;
}

/* Continues the upload at its end; the ticket is entered. */
static struct store_result go_on(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_ticket *t = &p->ticket;
	struct store_result r;

	w->size = p->offset;
	if (p->asked != w->size)
		return store_refuse(ERR_UPLOAD_OFFSET);
	r = agree(w, t->head.length);
	if (store_ok(r))
		r = store_rules_check_upload(w);
	if (store_ok(r))
		r = remember(w, t);
	if (!store_ok(r))
		return r;
	t->head.length = p->length;
	p->begun = p->synced = w->size;
	return store_errno(store_ticket_write(t, STORE_TICKET_OPEN));
}

static struct store_result append(struct store_work *w)
{
	int fd;
	struct store_result r = claim(w, &fd);

	if (fd < 0)
		return store_ok(r) ? store_refuse(ERR_UPLOAD_COMPLETE) : r;
	r = go_on(w);
	store_ticket_leave(&w->part->ticket);
	if (store_ok(r))
		return store_errno(adopt_part(w, fd));
	close(fd);
	return r;
}

static struct store_result begin_again(struct store_work *w)
{
	struct store_result r = append(w);
	struct store_there there;

	if (store_ok(r))
		r = store_errno(store_file_look(&w->at, w->name, STORE_NO_TAG, &there));
	if (!store_ok(r))
		return r;
	w->replaced = store_rules_cost(&there);
	r = measure(w, 0);
	return store_ok(r) && w->part->last ? store_work_add_folders(w) : r;
}

struct store_result store_part_begin(struct store_work *w)
{
	return w->part->goes_on ? begin_again(w) : begin_new(w);
}

/* --- an existing upload ----------------------------------------------------------------------- */

struct store_result store_part_look(struct store_work *w)
{
	int fd;
	struct store_result r = claim(w, &fd);

	if (fd < 0)
		return r;
	store_ticket_leave(&w->part->ticket);
	r = store_errno(store_part_sync(w, fd));
	w->part->length = w->part->ticket.head.length;
	close(fd);
	return r;
}

struct store_result store_part_cancel(struct store_work *w)
{
	int fd;
	struct store_result r = claim(w, &fd);

	if (store_ok(r) && fd < 0)
		r = store_ticket_enter(&w->part->ticket);
	if (!store_ok(r))
		return r;
	r = store_rules_check_upload(w);
	if (store_ok(r))
		store_part_remove(w);
	store_ticket_leave(&w->part->ticket);
	if (fd >= 0)
		close(fd);
	return r;
}
