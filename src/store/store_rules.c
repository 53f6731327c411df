/*
 * store_rules: decides if an upload may write its files: by the request's conditions, existing
 * files, and the directory's quota. Called in threads before writing; never changes the disk.
 */
#include "store/store_work.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "image/beneath.h"

/* True: any of its headers names one. */
static bool asks_etag(const struct store_work *w)
{
	for (unsigned i = 0; i < w->nfields; i++)
		if ((cond_fields(&w->fields[i], 1) & (COND_IF_MATCH | COND_IF_NONE_MATCH)) &&
			!slice_eq(w->fields[i].value, SLICE("*")))
			return true;
	return false;
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
	return is_match && none_match ? STORE_OK : store_refuse(ERR_CONDITION);
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
