/*
 * store_work: the order in which an upload's files are written, checked and named. Steps run in
 * threads, independent of loop and request.
 */
#include "store/store_work.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "http/dav_if.h"
#include "image/beneath.h"

enum { PIECES_AT_ONCE = 16 }; /* of BODY_PIECE bytes: 1 MiB */

/* --- store_rules ------------------------------------------------------------------------------ */

/* True: any of its headers names one. */
static bool asks_etag(const struct store_work *w)
{
	for (unsigned i = 0; i < w->nfields; i++)
		if (slice_eq(w->fields[i].name, SLICE("if")) ||
			((cond_fields(&w->fields[i], 1) & (COND_IF_MATCH | COND_IF_NONE_MATCH)) &&
				!slice_eq(w->fields[i].value, SLICE("*"))))
			return true;
	return false;
}

/* True if the headers if of a request on a drive hold (RFC 4918, 10.4). */
static bool dav_holds(const struct store_work *w, const struct store_there *there)
{
	for (unsigned i = 0; i < w->nfields; i++)
		if (slice_eq(w->fields[i].name, SLICE("if")) &&
			!dav_if_holds(w->fields[i].value, w->tree.target, etag_slice(&there->etag)))
			return false;
	return true;
}

static bool holds(const struct store_work *w, unsigned seen, const struct store_there *there,
	const struct etag *etag)
{
	const struct cond_validators v = {
		.etag = etag_slice(etag),
		.last_modified = (time_t)there->mtime,
	};

	return cond_check_change(w->fields, w->nfields, seen, there->any ? &v : NULL, w->now) ==
	       COND_PROCEED;
}

/*
 * Checks the request's conditions against the present file of that name. A client that got the file
 * in a coding has that entity tag; the image knows if its content is the same.
 */
static struct store_result check_conditions(
	const struct store_work *w, const struct store_there *there)
{
	unsigned seen = cond_fields(w->fields, w->nfields);
	bool same = there->etag.n > 0 && slice_eq(etag_slice(&w->known), etag_slice(&there->etag));
	bool is_match = holds(w, seen & ~COND_IF_NONE_MATCH, there, &there->etag);
	bool none_match = holds(w, seen & COND_IF_NONE_MATCH, there, &there->etag);

	for (unsigned c = 0; same && c < CODINGS; c++) {
		if (w->coded[c].n == 0)
			continue;
		is_match |= holds(w, seen & ~COND_IF_NONE_MATCH, there, &w->coded[c]);
		none_match &= holds(w, seen & COND_IF_NONE_MATCH, there, &w->coded[c]);
	}
	return is_match && none_match && dav_holds(w, there) ? STORE_OK
							     : store_refuse(ERR_CONDITION);
}

struct store_result store_rules_look(const struct store_work *w, const char *name,
	const struct err *elsewhere, struct store_there *there)
{
	int rc = store_file_look(
		&w->at, name, asks_etag(w) ? w->max_file_size : STORE_NO_TAG, there);

	if (rc == 0 && there->any) {
		rc = spelling_check(w->at.to, name, 1, 0);
		if (rc == -ENOENT)
			return store_refuse(elsewhere);
	}
	return rc == 0 ? check_conditions(w, there) : store_errno(rc);
}

struct store_result store_rules_check_name(
	const struct store_work *w, const char *name, struct store_there *there)
{
	struct store_result r = store_rules_look(w, name, ERR_FILE_THERE, there);

	if (store_ok(r) && (there->other || (there->any && !w->overwrite)))
		return store_refuse(ERR_FILE_THERE);
	return r;
}

struct store_result store_rules_check_upload(const struct store_work *w)
{
	const struct store_there there = { .any = true };
	const struct etag none = { 0 };
	bool ok = holds(w, cond_fields(w->fields, w->nfields), &there, &none);

	return ok ? STORE_OK : store_refuse(ERR_CONDITION);
}

uint64_t store_rules_cost(const struct store_there *there)
{
	return there->any && !there->other ? store_dir_cost(there->size) : 0;
}

static bool disk_has_room(const struct store_work *w, uint64_t length)
{
	struct statvfs fs;

	return fstatvfs(w->at.fd, &fs) < 0 || fs.f_blocks == 0 ||
	       length <= (uint64_t)fs.f_bavail * fs.f_frsize;
}

struct store_result store_rules_measure(struct store_work *w, uint64_t length, uint64_t cost)
{
	if (length == BODY_UNKNOWN)
		return STORE_OK;
	return disk_has_room(w, length)
		       ? store_quota_ask(&w->quota, &w->at, STORE_QUOTA_CHECK, cost, w->replaced)
		       : store_refuse(ERR_UPLOAD_ROOM);
}

/* --- the files -------------------------------------------------------------------------------- */

struct store_file *store_work_new_file(struct store_work *w)
{
	size_t n = w->nfiles + 1;
	struct store_file **files = realloc(w->files, n * sizeof(struct store_file *));

	if (files == NULL)
		return NULL;
	w->files = files;
	w->last = files[w->nfiles] = malloc(sizeof(**files));
	w->nfiles += w->last != NULL;
	return w->last;
}

/* Hashing is a third of an upload's cost: beyond the needs of an ETag it is done on demand. */
uint64_t store_work_sum_max(const struct store_work *w)
{
	return w->wants_digest ? UINT64_MAX : w->max_file_size;
}

struct store_result store_work_add_folders(struct store_work *w)
{
	uint64_t n = 1;

	if (w->at.to >= 0)
		return STORE_OK;
	for (const char *p = w->folder; *p != '\0'; p++)
		n += *p == '/';
	return store_quota_ask(
		&w->quota, &w->at, STORE_QUOTA_HOLD, n * STORE_DIR_FILE, w->replaced);
}

struct store_result store_work_add_file(struct store_work *w, struct slice name)
{
	struct store_result r =
		store_quota_ask(&w->quota, &w->at, STORE_QUOTA_HOLD, STORE_DIR_FILE, w->replaced);
	struct store_file *f;

	if (!store_ok(r))
		return r;
	f = store_work_new_file(w);
	return store_errno(
		f != NULL ? store_file_begin(f, &w->at, name, store_work_sum_max(w)) : -ENOMEM);
}

/* Requests room for n bytes more of the last file, before they are written. */
static struct store_result make_room(struct store_work *w, size_t n)
{
	uint64_t size = w->last->size;
	uint64_t more = store_dir_cost(size + n) - store_dir_cost(size);

	return store_quota_ask(&w->quota, &w->at,
		w->part != NULL ? STORE_QUOTA_KEEP : STORE_QUOTA_HOLD, more, w->replaced);
}

struct store_result store_work_write(struct store_work *w, struct iovec *v, int n, size_t size)
{
	struct store_result r = make_room(w, size);

	if (!store_ok(r))
		return r;
	w->size += size;
	return store_errno(store_file_write(w->last, v, n));
}

/*
 * Many at once: a call for each piece is a tenth of its cost, and the kernel makes larger folios
 * for longer writes.
 */
struct store_result store_work_pieces(
	struct store_work *w, const struct body_piece *p, store_work_writer *write)
{
	struct iovec v[PIECES_AT_ONCE];
	struct store_result r = STORE_OK;

	while (store_ok(r) && p != NULL) {
		size_t size = 0;
		int n = 0;

		for (; store_ok(r) && n < PIECES_AT_ONCE && p != NULL; p = p->next, n++) {
			r = store_errno(store_sum_add(&w->sum, p->bytes, p->n));
			v[n] = (struct iovec){ (void *)(uintptr_t)p->bytes, p->n };
			size += p->n;
		}
		w->came += size;
		if (store_ok(r))
			r = write(w, v, n, size);
	}
	return r;
}

struct store_result store_work_compare(struct store_work *w)
{
	if (w->length != BODY_UNKNOWN && w->came != w->length)
		return store_refuse(ERR_STORE_LENGTH);
	/* The digest of a resumable upload is the file's, not the body's. */
	return store_sum_compare(&w->sum, w->digests, w->part != NULL ? 1 : 2);
}

/* --- their names ------------------------------------------------------------------------------ */

/* Checks all names before the first is given. The directory is locked. *replaced: the cost of
 * replaced files. */
static struct store_result check_all(struct store_work *w, uint64_t *replaced)
{
	struct store_result r = STORE_OK;

	*replaced = 0;
	for (unsigned i = 0; store_ok(r) && i < w->nfiles; i++) {
		struct store_there there;

		r = store_rules_check_name(w, w->files[i]->name, &there);
		*replaced += store_rules_cost(&there);
	}
	/* Another request may have replaced or removed it. */
	if (store_ok(r) && *replaced < w->replaced && !store_quota_fits(&w->quota, *replaced))
		r = store_refuse(ERR_UPLOAD_ROOM);
	return r;
}

static struct store_result place(struct store_work *w, struct store_file *f)
{
	struct store_result r = STORE_OK;
	struct store_there there;
	int rc;

	/* By another spelling it may be one of this form by now. */
	if (w->nfiles > 1)
		r = store_rules_look(w, f->name, ERR_FILE_THERE, &there);
	if (!store_ok(r))
		return r;
	rc = store_file_place(f, &w->at, w->overwrite);
	/* Files replaced by a form would be as many open descriptors. */
	if (w->nfiles > 1)
		store_file_free_replaced(f);
	return rc == -EEXIST ? store_refuse(ERR_FILE_THERE) : store_errno(rc);
}

static struct store_result place_all(struct store_work *w, uint64_t *replaced)
{
	struct store_result r = check_all(w, replaced);
	unsigned i;

	/* The first hidden name, whose lock protects the others, is removed last. */
	for (i = w->nfiles; store_ok(r) && i > 0; i--)
		r = place(w, w->files[i - 1]);
	for (; !store_ok(r) && i < w->nfiles; i++)
		if (w->files[i]->created)
			unlinkat(w->at.to, w->files[i]->name, 0);
	return r;
}

/* Directories made for files without a place are removed with them. */
static struct store_result make_and_place(struct store_work *w, uint64_t *replaced)
{
	unsigned made;
	struct store_result r = store_errno(store_dir_make(&w->at, w->folder, &made));

	if (store_ok(r))
		r = place_all(w, replaced);
	if (!store_ok(r))
		store_dir_unmake(&w->at, w->folder, made);
	return r;
}

struct store_result store_work_name(struct store_work *w)
{
	struct store_result r = store_errno(store_dir_lock(&w->at, w->job));
	uint64_t replaced = 0;

	if (!store_ok(r))
		return r;
	r = store_errno(store_quota_begin(&w->quota, &w->at));
	if (store_ok(r)) {
		r = make_and_place(w, &replaced);
		store_quota_end(&w->quota, &w->at, store_ok(r), store_ok(r) ? replaced : 0);
	}
	store_dir_unlock(&w->at);
	return r;
}

struct store_result store_work_named(struct store_work *w)
{
	int rc = store_dir_sync(w->at.to);

	w->changed = true;
	return store_errno(rc == 0 && w->tree.into >= 0 ? store_dir_sync(w->tree.into) : rc);
}

/* --- the steps -------------------------------------------------------------------------------- */

int store_work_open(struct store_work *w)
{
	int rc = store_dir_open(&w->at, w->root, w->dir);

	if (rc == 0) {
		store_dir_enter(&w->at, w->folder);
		rc = store_quota_open(&w->quota, &w->at);
	}
	return rc == 0 ? store_sum_want_given(&w->sum, w->digests, w->part != NULL ? 1 : 2) : rc;
}

struct store_result store_work_begin(struct store_work *w)
{
	struct store_there there;
	struct store_result r = store_rules_check_name(w, w->name, &there);

	if (store_ok(r) && w->tree.strict && w->at.to < 0)
		r = store_refuse(ERR_FOLDER_NONE);
	if (!store_ok(r))
		return r;
	w->replaced = store_rules_cost(&there);
	r = store_rules_measure(w, w->length, store_dir_cost(w->length));
	if (store_ok(r))
		r = store_work_add_folders(w);
	return store_ok(r) ? store_work_add_file(w, slice_str(w->name)) : r;
}

struct store_result store_work_take(struct store_work *w)
{
	return store_work_pieces(w, w->pieces, store_work_write);
}

struct store_result store_work_seal(struct store_work *w)
{
	struct store_result r = store_work_take(w);

	if (store_ok(r))
		r = store_work_compare(w);
	if (store_ok(r))
		r = store_errno(store_file_end(w->last));
	return store_ok(r) ? store_work_place(w) : r;
}

struct store_result store_work_place(struct store_work *w)
{
	struct store_result r =
		store_errno(w->job != NULL && job_unwanted(w->job) ? -ECANCELED : 0);

	if (store_ok(r))
		r = store_work_name(w);
	return store_ok(r) ? store_work_named(w) : r;
}

static struct store_result unlink_file(struct store_work *w, const struct store_there *there)
{
	struct store_result r = store_errno(store_quota_begin(&w->quota, &w->at));

	if (!store_ok(r))
		return r;
	if (unlinkat(w->at.to, w->name, 0) < 0)
		r = errno == ENOENT ? store_refuse(ERR_FILE_NONE) : store_errno(-errno);
	store_quota_end(&w->quota, &w->at, false, store_ok(r) ? store_rules_cost(there) : 0);
	return r;
}

struct store_result store_work_remove(struct store_work *w)
{
	struct store_result r = store_errno(store_dir_lock(&w->at, w->job));
	struct store_there there;

	if (!store_ok(r))
		return r;
	r = store_rules_look(w, w->name, ERR_FILE_NONE, &there);
	if (store_ok(r) && (!there.any || there.other))
		r = store_refuse(ERR_FILE_NONE);
	if (store_ok(r))
		r = unlink_file(w, &there);
	store_dir_unlock(&w->at);
	return store_ok(r) ? store_work_named(w) : r;
}

bool store_work_is_open(const struct store_work *w)
{
	return w->at.fd >= 0 || (w->nfiles > 0 && w->files[0]->replaced >= 0);
}

void store_work_close(struct store_work *w)
{
	for (unsigned i = 0; i < w->nfiles; i++)
		store_file_drop(w->files[i], &w->at);
	store_sum_fini(&w->sum);
	store_quota_close(&w->quota);
	store_dir_close(&w->at);
}

void store_work_free_replaced(struct store_work *w)
{
	if (w->nfiles > 0)
		store_file_free_replaced(w->files[0]);
}

void store_work_free(struct store_work *w)
{
	body_pieces_free(w->pieces);
	body_pieces_free(w->rest);
	for (unsigned i = 0; i < w->nfiles; i++)
		free(w->files[i]);
	free(w->files);
	free(w->form);
	free(w->part);
	strbuf_fini(&w->tree.entries);
	strbuf_fini(&w->tree.names);
}
