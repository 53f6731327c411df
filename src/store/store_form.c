/*
 * store_form: the files of a form, in the order of the body. Steps run in threads; the form is read
 * by http/multipart.h.
 */
#include "store/store_work.h"

enum { OPEN_MAX = 8 }; /* files whose descriptors are kept */

/* Adds the cost of the file that this one replaces to the uncounted. 0, or -errno. */
static int look_for_replaced(struct store_work *w, struct slice name)
{
	char text[FILE_NAME_LEN_MAX + 1] = "";
	struct store_there there;
	int rc;

	if (w->quota.max == 0)
		return 0;
	memcpy(text, name.p, name.n);
	rc = store_file_look(&w->at, text, STORE_NO_TAG, &there);
	if (rc == 0)
		w->replaced += store_rules_cost(&there);
	return rc;
}

static struct store_result begin_part(struct store_work *w)
{
	const struct multipart_part *part = &w->form->part;
	struct slice name = file_name_last(part->filename);
	const struct err *err;
	int rc;

	/* Browsers send an empty one for an input without a chosen file. */
	if (!part->has_filename || part->filename.n == 0)
		return STORE_OK;
	err = file_name_check(name);
	if (err == NULL && w->nfiles == STORE_FORM_FILES)
		err = ERR_FILES_TOO_MANY;
	if (err != NULL)
		return store_refuse(err);
	rc = look_for_replaced(w, name);
	return rc == 0 ? store_work_add_file(w, name) : store_errno(rc);
}

/* True if the current part of the form is a file. */
static bool in_file(const struct store_work *w)
{
	return w->last != NULL && !w->last->ended;
}

static struct store_result write_data(struct store_work *w, struct slice data)
{
	struct iovec v = { (void *)(uintptr_t)data.p, data.n };

	return in_file(w) ? store_work_write(w, &v, 1, data.n) : STORE_OK;
}

static struct store_result end_part(struct store_work *w)
{
	int rc;

	if (!in_file(w))
		return STORE_OK;
	rc = store_file_end(w->last);
	if (rc == 0 && w->nfiles > OPEN_MAX)
		rc = store_file_shelve(w->last, &w->at);
	return store_errno(rc);
}

static struct store_result take_bytes(struct store_work *w, struct slice piece, bool end)
{
	struct store_result r = STORE_OK;

	while (store_ok(r)) {
		switch (multipart_next(w->form, &piece, end)) {
		case MULTIPART_MORE:
		case MULTIPART_DONE:
			return STORE_OK;
		case MULTIPART_BEGIN:
			r = begin_part(w);
			break;
		case MULTIPART_DATA:
			r = write_data(w, w->form->data);
			break;
		case MULTIPART_END:
			r = end_part(w);
			break;
		case MULTIPART_BAD:
			return store_refuse(w->form->err);
		}
	}
	return r;
}

static struct store_result take_pieces(struct store_work *w, struct iovec *v, int n, size_t size)
{
	struct store_result r = STORE_OK;

	(void)size;
	for (int i = 0; store_ok(r) && i < n; i++)
		r = take_bytes(w, slice_of(v[i].iov_base, v[i].iov_len), false);
	return r;
}

/* Refuses two files of one name: one would be lost. */
static struct store_result check_names(const struct store_work *w)
{
	for (unsigned i = 1; i < w->nfiles; i++)
		for (unsigned k = 0; k < i; k++)
			if (strcmp(w->files[i]->name, w->files[k]->name) == 0)
				return store_refuse(ERR_FILE_TWICE);
	return STORE_OK;
}

struct store_result store_form_take(struct store_work *w)
{
	return store_work_pieces(w, w->pieces, take_pieces);
}

struct store_result store_form_seal(struct store_work *w)
{
	struct store_result r = store_form_take(w);

	if (store_ok(r))
		r = take_bytes(w, slice_of("", 0), true);
	if (store_ok(r) && w->nfiles == 0)
		r = store_refuse(ERR_MULTIPART_NO_FILE);
	if (store_ok(r))
		r = store_work_compare(w);
	return store_ok(r) ? check_names(w) : r;
}
