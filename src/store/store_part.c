/*
 * store_part: one request's part of a resumable upload. Called by store_work.c and store_job.c in
 * threads; what it changes, it changes having entered by the ticket.
 */
#include "store/store_part.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request/body.h"
#include "store/store_rules.h"

enum {
	READ_PIECE = 256 << 10,
	READ_PORTION = 64 << 20, /* of one job, so that other uploads have their turn */
	SYNC_AFTER = 16 << 20,
};

static struct store_file *file(const struct store_work *w)
{
	return w->files[0];
}

int store_part_enter(struct store_work *w)
{
	return store_ticket_enter(&w->part->ticket);
}

void store_part_leave(struct store_work *w)
{
	store_ticket_leave(&w->part->ticket);
}

static int problem(struct store_part *p, enum store_part_problem what, int status)
{
	p->problem = what;
	return status;
}

/* --- the length of the whole ------------------------------------------------------------------ */

/* Agrees on the length of the whole: what is known of it must not contradict what this request says
 * (4.1.3 of the draft). */
static int agree(struct store_work *w, uint64_t known)
{
	struct store_part *p = w->part;
	uint64_t end = w->length == BODY_UNKNOWN ? BODY_UNKNOWN : w->size + w->length;
	const uint64_t said[] = { known, p->length, p->last ? end : BODY_UNKNOWN };
	uint64_t length = BODY_UNKNOWN;

	for (unsigned i = 0; i < 3; i++) {
		if (said[i] == BODY_UNKNOWN)
			continue;
		if (length != BODY_UNKNOWN && said[i] != length)
			return problem(p, STORE_PART_LENGTH, 400);
		length = said[i];
	}
	if (w->size > p->max)
		return 413;
	if (length < w->size || (end != BODY_UNKNOWN && end > length))
		return problem(p, STORE_PART_LENGTH, 400);
	if ((end != BODY_UNKNOWN && end > p->max) || (length != BODY_UNKNOWN && length > p->max))
		return 413;
	p->length = length;
	return 0;
}

int store_part_check(struct store_work *w, size_t n)
{
	struct store_part *p = w->part;

	if (n <= p->max - w->size && n <= p->length - w->size)
		return 0;
	/* 4.4.2 of the draft: nothing goes on with an upload that is longer than it was to be. */
	p->doomed = true;
	return n > p->length - w->size ? problem(p, STORE_PART_LENGTH, 400) : 413;
}

/* --- beginning -------------------------------------------------------------------------------- */

/* The part becomes a file of w, written to at its end. 0, or -errno. */
static int adopt(struct store_work *w, int fd)
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

/* Makes the ticket, and its part: the descriptor of that, or -errno. */
static int create_files(struct store_work *w)
{
	struct store_part *p = w->part;
	int fd = store_quota_begin(&w->quota, &w->at);

	if (fd < 0)
		return fd;
	fd = store_ticket_create(
		&p->ticket, &w->at, w->name, p->user, w->fields, w->nfields, p->length);
	store_quota_end(&w->quota, &w->at, false, fd < 0 ? 2 * STORE_QUOTA_FILE : 0);
	return fd;
}

/* Removes the ticket, which was entered, and its part. */
static void remove_files(struct store_work *w)
{
	struct store_ticket *t = &w->part->ticket;
	bool counted = store_quota_begin(&w->quota, &w->at) == 0;
	uint64_t gone = STORE_QUOTA_FILE + store_ticket_part_cost(t, &w->at);

	store_ticket_remove(t, &w->at);
	if (counted)
		store_quota_end(&w->quota, &w->at, false, gone);
}

/* Cuts the part down to size. 0, or -errno. */
static int cut(struct store_work *w, uint64_t size)
{
	uint64_t gone = store_quota_cost(w->size) - store_quota_cost(size);
	int rc = store_quota_begin(&w->quota, &w->at);

	if (rc < 0)
		return rc;
	if (ftruncate(file(w)->fd, (off_t)size) < 0)
		rc = -errno;
	store_quota_end(&w->quota, &w->at, false, rc == 0 ? gone : 0);
	return rc;
}

/* Takes back what this request added: uploads without room for their ends would take it from each
 * other. */
static void cut_back(struct store_work *w)
{
	const struct store_part *p = w->part;

	if (store_part_enter(w) != 0)
		return;
	if (p->what == STORE_PART_CREATE && p->offset == 0)
		remove_files(w);
	else
		cut(w, p->offset); /* or it stays, until it expires */
	store_part_leave(w);
}

static int create(struct store_work *w)
{
	struct store_part *p = w->part;
	int rc = agree(w, BODY_UNKNOWN), fd;

	/* Ticket and part. */
	if (rc == 0)
		rc = store_quota_keep(&w->quota, &w->at, 2 * STORE_QUOTA_FILE, w->replaced);
	if (rc != 0)
		return rc;
	p->doomed = true;
	fd = create_files(w);
	rc = fd < 0 ? fd : adopt(w, fd);
	for (enum digest_algorithm a = 0; rc == 0 && a < DIGEST_ALGORITHMS; a++)
		if (a == DIGEST_SHA_256 || w->digests[1].given[a])
			rc = store_sum_want(&file(w)->sum, a);
	p->doomed = rc != 0;
	return rc;
}

/*
 * Finds the upload and claims it. Somebody else's is as one that is not there. The descriptor of
 * what came, -1 if it is the file already; then, or in *rc: a failure, the ticket is not entered.
 */
static int claim(struct store_work *w, int *rc)
{
	struct store_part *p = w->part;
	struct store_ticket *t = &p->ticket;
	int fd;

	*rc = store_ticket_open(t, &w->at);
	if (*rc == 0 && (strcmp(t->name, w->name) != 0 ||
				(t->user[0] != '\0' && strcmp(t->user, p->user) != 0)))
		*rc = 404;
	if (*rc == 0)
		*rc = store_ticket_claim(t, w->job);
	if (*rc != 0)
		return -1;
	fd = store_ticket_part(t, &w->at);
	if (fd >= 0)
		return fd;
	p->complete = fd == -ENOENT && t->head.state != STORE_TICKET_OPEN;
	p->offset = t->head.size;
	*rc = p->complete ? 0 : fd == -ENOENT ? 404 : fd;
	store_ticket_leave(t);
	return -1;
}

static int size_of(int fd, uint64_t *size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*size = (uint64_t)st.st_size;
	return 0;
}

/* Takes what the first request said: it holds for the whole. */
static int remember(struct store_work *w)
{
	const struct store_ticket *t = &w->part->ticket;

	w->fields = t->fields;
	w->nfields = t->nfields;
	if (digest_field_parse(t->fields, t->nfields, SLICE("repr-digest"), &w->digests[1]) != NULL)
		return 404;
	w->wants_digest =
		digest_field_wanted(t->fields, t->nfields) || digest_field_any(&w->digests[1]);
	return 0;
}

/* It is entered. */
static int go_on(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_ticket *t = &p->ticket;
	int rc;

	p->offset = w->size;
	if (p->asked != w->size)
		return problem(p, STORE_PART_OFFSET, 409);
	rc = agree(w, t->head.length);
	if (rc == 0)
		rc = store_rules_check_upload(w);
	if (rc != 0)
		return rc;
	t->head.length = p->length;
	t->head.state = STORE_TICKET_OPEN;
	p->begun = p->synced = w->size;
	return store_ticket_write(t);
}

static int append(struct store_work *w)
{
	struct store_part *p = w->part;
	int rc, fd = claim(w, &rc);

	if (fd < 0)
		return rc == 0 ? problem(p, STORE_PART_COMPLETE, 400) : rc;
	rc = size_of(fd, &w->size);
	if (rc == 0)
		rc = go_on(w);
	store_part_leave(w);
	if (rc == 0)
		rc = remember(w);
	if (rc == 0)
		return adopt(w, fd);
	close(fd);
	return rc;
}

int store_part_begin(struct store_work *w)
{
	return w->part->what == STORE_PART_CREATE ? create(w) : append(w);
}

/* --- the body's end --------------------------------------------------------------------------- */

/* Waits until the disk has the part and its ticket: what a client was told is found again after a
 * power cut, too. */
static int sync_all(const struct store_work *w, int part)
{
	if (fdatasync(part) < 0 && errno != EINVAL)
		return -errno;
	if (fsync(w->part->ticket.fd) < 0 && errno != EINVAL)
		return -errno;
	return store_work_sync_dir(w);
}

int store_part_sync(struct store_work *w)
{
	struct store_part *p = w->part;

	/* A body with a digest may have to go again: nothing of it is told before its end. */
	if (w->size - p->synced < SYNC_AFTER || digest_field_any(&w->digests[0]))
		return 0;
	if (fdatasync(file(w)->fd) < 0 && errno != EINVAL)
		return -errno;
	p->offset = p->synced = w->size;
	return 1;
}

/* Content of a wrong digest is not appended. */
static int check_content(struct store_work *w)
{
	struct store_part *p = w->part;
	int rc = store_work_compare(w, &w->sum, &w->digests[0], 1);

	if (rc != 400)
		return rc;
	p->doomed = p->what == STORE_PART_CREATE;
	rc = p->doomed ? 0 : cut(w, p->begun);
	w->size = p->begun;
	return rc < 0 ? rc : 400;
}

int store_part_seal(struct store_work *w)
{
	struct store_part *p = w->part;
	int rc = store_part_enter(w);

	if (rc != 0)
		return rc;
	rc = check_content(w);
	store_part_leave(w);
	if (rc == 0 && p->last && p->length != BODY_UNKNOWN && p->length != w->size) {
		p->doomed = true;
		rc = problem(p, STORE_PART_LENGTH, 400);
	}
	if (rc != 0 || p->last)
		return rc;
	rc = sync_all(w, file(w)->fd);
	if (rc == 0)
		p->offset = w->size;
	return rc;
}

/* --- the whole -------------------------------------------------------------------------------- */

bool store_part_unread(const struct store_work *w)
{
	return w->part->what == STORE_PART_APPEND && w->part->hashed < w->size &&
	       w->size <= file(w)->sum_max;
}

static int begin_to_read(struct store_work *w)
{
	int rc = store_sum_want(&file(w)->sum, DIGEST_SHA_256);

	return rc == 0 && w->digests[1].given[DIGEST_SHA_512]
		       ? store_sum_want(&file(w)->sum, DIGEST_SHA_512)
		       : rc;
}

/* Up to end, or the file's. */
static int read_to(struct store_work *w, char *buf, uint64_t end)
{
	struct store_part *p = w->part;
	int rc = 0;

	while (rc == 0 && p->hashed < end) {
		ssize_t n = pread(file(w)->fd, buf, READ_PIECE, (off_t)p->hashed);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		rc = store_sum_add(&file(w)->sum, buf, (size_t)n);
		p->hashed += (uint64_t)n;
		if (w->job != NULL && job_unwanted(w->job))
			rc = -ECANCELED;
	}
	return rc;
}

int store_part_read(struct store_work *w)
{
	struct store_part *p = w->part;
	uint64_t left = w->size - p->hashed;
	char *buf = malloc(READ_PIECE);
	int rc = buf == NULL ? -ENOMEM : p->hashed == 0 ? begin_to_read(w) : 0;

	if (rc == 0)
		rc = read_to(w, buf, p->hashed + (left < READ_PORTION ? left : READ_PORTION));
	free(buf);
	return rc;
}

int store_part_end(struct store_work *w)
{
	struct store_part *p = w->part;
	struct store_file *f = file(w);
	int rc = p->what == STORE_PART_APPEND && w->size == 0 ? begin_to_read(w) : 0;
	struct digest_field other = w->digests[1];
	const struct err *err = NULL;

	/* The file's own is computed once, and compared behind that. */
	other.given[DIGEST_SHA_256] = false;
	if (rc == 0)
		rc = store_work_compare(w, &f->sum, &other, 1);
	if (rc == 0)
		rc = store_file_end(f);
	if (rc == 0)
		err = digest_field_compare(&w->digests[1], DIGEST_SHA_256, f->sha256);
	if (err != NULL)
		rc = store_work_wrong(w, err);
	p->doomed = rc == 400;
	return rc;
}

int store_part_placing(struct store_work *w)
{
	struct store_ticket *t = &w->part->ticket;
	int rc = store_part_enter(w);

	if (rc != 0)
		return rc;
	t->head.state = STORE_TICKET_PLACING;
	t->head.size = w->size;
	rc = store_ticket_write(t);
	if (rc != 0)
		store_part_leave(w);
	return rc;
}

int store_part_placed(struct store_work *w, int rc)
{
	struct store_part *p = w->part;
	struct store_ticket *t = &p->ticket;

	p->complete = rc == 0;
	p->doomed = rc >= 400 && rc < 500;
	t->head.state = rc == 0 ? STORE_TICKET_PLACED : STORE_TICKET_OPEN;
	/* Should that fail: it is read as what is so, by whether there is a part. */
	store_ticket_write(t);
	store_part_leave(w);
	return rc;
}

/* --- without a body --------------------------------------------------------------------------- */

int store_part_look(struct store_work *w)
{
	struct store_part *p = w->part;
	int rc, fd = claim(w, &rc);

	if (fd < 0)
		return rc;
	rc = size_of(fd, &p->offset);
	store_part_leave(w);
	if (rc == 0)
		rc = sync_all(w, fd);
	p->length = p->ticket.head.length;
	close(fd);
	return rc;
}

int store_part_cancel(struct store_work *w)
{
	int rc, fd = claim(w, &rc);

	if (rc == 0 && fd < 0)
		rc = store_part_enter(w);
	if (rc == 0) {
		rc = store_rules_check_upload(w);
		if (rc == 0)
			remove_files(w);
		store_part_leave(w);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

void store_part_close(struct store_work *w)
{
	struct store_part *p = w->part;

	if (p->no_room && !p->doomed)
		cut_back(w);
	if (p->doomed && p->ticket.fd >= 0 && store_part_enter(w) == 0) {
		remove_files(w);
		store_part_leave(w);
	}
	if (w->nfiles > 0 && !p->complete)
		file(w)->hidden[0] = '\0';
	store_ticket_close(&p->ticket);
	w->fields = NULL;
	w->nfields = 0;
}
