/*
 * store_work: the order in which an upload's files are checked, written and named. Called by
 * store.c's jobs in threads; knows no loop and no request.
 */
#include "store/store_work.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "image/spelling.h"
#include "request/body.h"
#include "store/store_part.h"
#include "store/store_rules.h"

enum { PIECES_AT_ONCE = 16 }; /* of BODY_PIECE bytes: 1 MiB */

int store_work_wrong(struct store_work *w, const struct err *err)
{
	w->err = err;
	return err->status;
}

/* --- the files -------------------------------------------------------------------------------- */

struct store_file *store_work_new_file(struct store_work *w)
{
	struct store_file *f = malloc(sizeof(*f));

	if (w->nfiles == w->cap) {
		unsigned cap = w->cap == 0 ? 1 : 2 * w->cap;
		struct store_file **files = realloc(w->files, cap * sizeof(struct store_file *));

		if (files != NULL) {
			w->files = files;
			w->cap = cap;
		}
	}
	if (f == NULL || w->nfiles == w->cap) {
		free(f);
		return NULL;
	}
	w->files[w->nfiles++] = f;
	w->in_part = true;
	return f;
}

/* Hashing is a third of what an upload costs: beyond what an ETag needs it is done on demand. */
uint64_t store_work_sum_max(const struct store_work *w)
{
	return w->wants_digest ? UINT64_MAX : w->max_file_size;
}

static int add_file(struct store_work *w, struct slice name)
{
	struct store_file *f;
	int rc = store_quota_hold(&w->quota, &w->at, STORE_QUOTA_FILE, w->replaced);

	if (rc != 0)
		return rc;
	f = store_work_new_file(w);
	return f != NULL ? store_file_begin(f, &w->at, name, store_work_sum_max(w)) : -ENOMEM;
}

static struct store_file *last(const struct store_work *w)
{
	return w->files[w->nfiles - 1];
}

/* For n bytes more of the last file, before they are written. */
static int make_room(struct store_work *w, size_t n)
{
	uint64_t size = last(w)->size, more = store_quota_cost(size + n) - store_quota_cost(size);

	int rc;

	if (w->part == NULL)
		return store_quota_hold(&w->quota, &w->at, more, w->replaced);
	rc = store_quota_keep(&w->quota, &w->at, more, w->replaced);
	w->part->no_room = rc == 507;
	return rc;
}

static int write_some(struct store_work *w, struct iovec *v, int n)
{
	size_t size = 0;
	int rc;

	for (int i = 0; i < n; i++)
		size += v[i].iov_len;
	rc = w->part != NULL ? store_part_check(w, size) : 0;
	if (rc == 0)
		rc = make_room(w, size);
	if (rc != 0)
		return rc;
	w->size += size;
	return store_file_write(last(w), v, n);
}

static int end_file(struct store_work *w)
{
	int rc = store_file_end(last(w));

	w->in_part = false;
	if (rc == 0 && w->nfiles > STORE_OPEN_MAX)
		rc = store_file_shelve(last(w), &w->at);
	return rc;
}

/* --- forms ------------------------------------------------------------------------------------ */

/* Adds the cost of what a file of a form will replace to what does not count; it is known when its
 * name is. */
static int look_for_replaced(struct store_work *w, struct slice name)
{
	char text[FILE_NAME_LEN_MAX + 1] = "";
	struct store_there there;
	int rc;

	if (w->quota.max == 0)
		return 0;
	memcpy(text, name.p, name.n);
	rc = store_file_look(&w->at, text, NULL, &there);
	if (rc == 0)
		w->replaced += store_rules_cost(&there);
	return rc;
}

static int begin_part(struct store_work *w)
{
	const struct multipart_part *part = &w->form->part;
	struct slice name = file_name_last(part->filename);
	const struct err *err;
	int rc;

	if (!part->has_filename)
		return 0;
	/* What a browser sends for a field without a chosen file. */
	if (part->filename.n == 0)
		return 0;
	err = file_name_check(name);
	if (err != NULL)
		return store_work_wrong(w, err);
	if (w->nfiles == STORE_FILES_MAX)
		return store_work_wrong(w, ERR_FILES_TOO_MANY);
	rc = look_for_replaced(w, name);
	return rc == 0 ? add_file(w, name) : rc;
}

static int write_data(struct store_work *w, struct slice data)
{
	struct iovec v = { (void *)(uintptr_t)data.p, data.n };

	return write_some(w, &v, 1);
}

static int take_form(struct store_work *w, struct slice piece, bool end)
{
	int rc = 0;

	while (rc == 0) {
		switch (multipart_next(w->form, &piece, end)) {
		case MULTIPART_MORE:
		case MULTIPART_DONE:
			return 0;
		case MULTIPART_BEGIN:
			rc = begin_part(w);
			break;
		case MULTIPART_DATA:
			rc = w->in_part ? write_data(w, w->form->data) : 0;
			break;
		case MULTIPART_END:
			rc = w->in_part ? end_file(w) : 0;
			break;
		case MULTIPART_BAD:
			return store_work_wrong(w, w->form->err);
		}
	}
	return rc;
}

/* --- putting them in place -------------------------------------------------------------------- */

int store_work_compare(
	struct store_work *w, struct store_sum *sum, const struct digest_field *fields, unsigned n)
{
	for (unsigned a = 0; a < DIGEST_ALGORITHMS; a++) {
		unsigned char hash[DIGEST_SIZE_MAX];
		bool given = false;

		for (unsigned i = 0; i < n; i++)
			given |= fields[i].given[a];
		if (!given)
			continue;
		if (store_sum_end(sum, a, hash) < 0)
			return -ENOMEM;
		for (unsigned i = 0; i < n; i++) {
			const struct err *err = digest_field_compare(&fields[i], a, hash);

			if (err != NULL)
				return store_work_wrong(w, err);
		}
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct store_file *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Refuses two files of one name in one form: one would be lost. */
static int check_twins(struct store_work *w)
{
	struct store_file **sorted;
	int rc = 0;

	if (w->nfiles < 2)
		return 0;
	sorted = malloc(w->nfiles * sizeof(struct store_file *));
	if (sorted == NULL)
		return -ENOMEM;
	memcpy(sorted, w->files, w->nfiles * sizeof(struct store_file *));
	qsort(sorted, w->nfiles, sizeof(struct store_file *), by_name);
	for (unsigned i = 1; i < w->nfiles; i++)
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			rc = store_work_wrong(w, ERR_FILE_TWICE);
	free(sorted);
	return rc;
}

/* All names are looked at before the first is given. The folder is locked. *replaced: what will go.
 */
static int check_all(struct store_work *w, uint64_t *replaced)
{
	int rc = 0;

	*replaced = 0;

	for (unsigned i = 0; rc == 0 && i < w->nfiles; i++) {
		struct store_there there;

		rc = store_rules_check_name(w, w->files[i]->name, &there);
		*replaced += store_rules_cost(&there);
	}
	/* Somebody else may have replaced or removed it. */
	if (rc == 0 && *replaced < w->replaced && !store_quota_fits(&w->quota, *replaced))
		rc = 507;
	return rc;
}

static int place_all(struct store_work *w, uint64_t *replaced)
{
	int rc = check_all(w, replaced);
	unsigned i;

	for (i = 0; rc == 0 && i < w->nfiles; i++) {
		/* The first hidden name, whose lock keeps the others, goes last. */
		struct store_file *f = w->files[w->nfiles - 1 - i];
		struct store_there there;

		/* By another spelling it may be one of this form by now. */
		rc = w->nfiles > 1 ? store_rules_look(w, f->name, 409, &there) : 0;
		if (rc == 0)
			rc = store_file_place(f, &w->at, w->overwrite);
		/* Files that a form replaces would be as many open descriptors. */
		if (w->nfiles > 1)
			store_file_free_replaced(f);
	}
	if (rc != 0)
		for (unsigned k = 0; k < i; k++)
			if (w->files[w->nfiles - 1 - k]->created)
				unlinkat(w->at.fd, w->files[w->nfiles - 1 - k]->name, 0);
	return rc == -EEXIST || rc == 409 ? store_work_wrong(w, ERR_FILE_THERE) : rc;
}

int store_work_sync_dir(const struct store_work *w)
{
	return fsync(w->at.fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* Wants the sums of the body; where it can be resumed, that of the whole is the file's own. */
static int want_sums(struct store_work *w)
{
	unsigned fields = w->part != NULL ? 1 : 2;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < fields * DIGEST_ALGORITHMS; i++)
		if (w->digests[i / DIGEST_ALGORITHMS].given[i % DIGEST_ALGORITHMS])
			rc = store_sum_want(&w->sum, i % DIGEST_ALGORITHMS);
	return rc;
}

static int begin_file(struct store_work *w)
{
	struct store_there there = { 0 };
	bool goes_on = w->part != NULL && w->part->what == STORE_PART_APPEND;
	int rc = goes_on ? store_part_begin(w) : 0;

	if (rc == 0 && goes_on)
		rc = store_file_look(&w->at, w->name, NULL, &there);
	else if (rc == 0)
		rc = store_rules_check_name(w, w->name, &there);
	if (rc == 0)
		rc = store_rules_measure(w, store_rules_cost(&there));
	if (rc != 0 || goes_on)
		return rc;
	return w->part != NULL ? store_part_begin(w) : add_file(w, slice_str(w->name));
}

int store_work_open(struct store_work *w)
{
	int rc = store_dir_open(&w->at, w->root, w->dir);

	return rc == 0 ? store_quota_open(&w->quota, &w->at) : rc;
}

int store_work_begin(struct store_work *w)
{
	int rc = store_work_open(w);

	if (rc == 0)
		rc = want_sums(w);
	if (rc != 0)
		return rc;
	return w->name != NULL ? begin_file(w) : store_rules_measure(w, 0);
}

/*
 * Many at once: a call of its own for each piece is a tenth of what storing it costs, and the
 * kernel makes larger folios for longer writes.
 */
static int take_file(struct store_work *w, const struct body_piece *pieces)
{
	struct iovec v[PIECES_AT_ONCE];
	int rc = 0;

	while (rc == 0 && pieces != NULL) {
		int n = 0;

		for (; n < PIECES_AT_ONCE && pieces != NULL; pieces = pieces->next)
			v[n++] = (struct iovec){ (void *)(uintptr_t)pieces->bytes, pieces->n };
		rc = write_some(w, v, n);
	}
	return rc;
}

static int take(struct store_work *w, const struct body_piece *pieces)
{
	int rc = 0;

	for (const struct body_piece *p = pieces; rc == 0 && p != NULL; p = p->next) {
		rc = store_sum_add(&w->sum, p->bytes, p->n);
		if (rc == 0 && w->form != NULL)
			rc = take_form(w, slice_of(p->bytes, p->n), false);
	}
	return rc == 0 && w->form == NULL ? take_file(w, pieces) : rc;
}

int store_work_take(struct store_work *w, const struct body_piece *pieces)
{
	int rc;

	if (w->part == NULL)
		return take(w, pieces);
	rc = store_part_enter(w);
	if (rc != 0)
		return rc;
	rc = take(w, pieces);
	store_part_leave(w);
	return rc;
}

bool store_work_is_whole(const struct store_work *w)
{
	return w->part == NULL || (w->part->last && !store_part_unread(w));
}

int store_work_seal(struct store_work *w)
{
	int rc = w->form != NULL ? take_form(w, slice_of("", 0), true) : 0;

	if (rc == 0 && w->form != NULL && w->nfiles == 0)
		rc = store_work_wrong(w, ERR_MULTIPART_NO_FILE);
	if (rc == 0 && w->part != NULL)
		return store_part_seal(w);
	if (rc == 0)
		rc = store_work_compare(w, &w->sum, w->digests, 2);
	if (rc == 0 && w->form == NULL)
		rc = end_file(w);
	return rc == 0 ? check_twins(w) : rc;
}

static int place_locked(struct store_work *w)
{
	int rc = store_dir_lock(&w->at, w->job);
	uint64_t replaced;

	if (rc < 0)
		return rc;
	rc = store_quota_begin(&w->quota, &w->at);
	if (rc == 0) {
		rc = place_all(w, &replaced);
		store_quota_end(&w->quota, &w->at, rc == 0, rc == 0 ? replaced : 0);
	}
	store_dir_unlock(&w->at);
	return rc;
}

static int place_part(struct store_work *w)
{
	int rc = store_part_end(w);

	if (rc == 0)
		rc = store_part_placing(w);
	return rc == 0 ? store_part_placed(w, place_locked(w)) : rc;
}

/* Readers would hash a long file behind their responses, and have no tag to say until then. */
static void remember_tags(const struct store_work *w)
{
	for (unsigned i = 0; i < w->nfiles; i++)
		store_file_remember(w->files[i], w->memo, w->files[i]->size > w->max_file_size);
}

int store_work_place(struct store_work *w)
{
	int rc = w->part != NULL ? place_part(w) : place_locked(w);

	w->changed = rc == 0;
	if (rc == 0)
		remember_tags(w);
	return rc == 0 ? store_work_sync_dir(w) : rc;
}

static int unlink_file(struct store_work *w, const struct store_there *there)
{
	int rc = store_quota_begin(&w->quota, &w->at);

	if (rc != 0)
		return rc;
	if (unlinkat(w->at.fd, w->name, 0) < 0)
		rc = errno == ENOENT ? 404 : -errno;
	store_quota_end(&w->quota, &w->at, false, rc == 0 ? store_rules_cost(there) : 0);
	return rc;
}

int store_work_remove(struct store_work *w)
{
	struct store_there there;
	int rc = store_work_open(w);

	if (rc == 0)
		rc = store_dir_lock(&w->at, w->job);
	if (rc < 0)
		return rc;
	rc = store_rules_look(w, w->name, 404, &there);
	if (rc == 0 && (!there.any || there.other))
		rc = 404;
	if (rc == 0)
		rc = unlink_file(w, &there);
	store_dir_unlock(&w->at);
	w->changed = rc == 0;
	return rc == 0 ? store_work_sync_dir(w) : rc;
}

bool store_work_close(struct store_work *w)
{
	bool more = w->nfiles > 0 && w->files[0]->replaced >= 0;

	if (more && w->at.fd < 0) {
		store_file_free_replaced(w->files[0]);
		return true;
	}
	if (w->part != NULL)
		store_part_close(w);
	for (unsigned i = 0; i < w->nfiles; i++)
		store_file_drop(w->files[i], &w->at);
	store_sum_fini(&w->sum);
	store_quota_close(&w->quota);
	store_dir_close(&w->at);
	return !more;
}

void store_work_free(struct store_work *w)
{
	for (unsigned i = 0; i < w->nfiles; i++)
		free(w->files[i]);
	free(w->files);
	free(w->form);
	free(w->part);
	w->files = NULL;
	w->form = NULL;
	w->part = NULL;
	w->nfiles = w->cap = 0;
}
