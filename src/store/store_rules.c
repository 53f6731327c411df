/*
 * store_rules: whether what an upload is to write may be written: the request's conditions, what
 * has the name already, and the folder's quota. Called by store_work.c and store_part.c in threads;
 * changes nothing on the disk.
 */
#include "store/store_rules.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "image/spelling.h"
#include "request/body.h"
#include "store/store_part.h"

/* Any of its fields names one: a long file is read for it. */
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
 * The conditions of the request against what has the name now. A client that was sent the file in a
 * coding knows it by that entity tag; the image says whether it is of the same content.
 */
static int check_conditions(const struct store_work *w, const struct store_there *there)
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
	return is_match && none_match ? 0 : 412;
}

int store_rules_look(
	const struct store_work *w, const char *name, int elsewhere, struct store_there *there)
{
	int rc = store_file_look(&w->at, name, asks_etag(w) ? w->memo : NULL, there);

	if (rc == 0 && there->any) {
		rc = spelling_check(w->at.fd, name, 1, 0);
		if (rc == -ENOENT)
			return elsewhere;
	}
	return rc == 0 ? check_conditions(w, there) : rc;
}

int store_rules_check_name(const struct store_work *w, const char *name, struct store_there *there)
{
	int rc = store_rules_look(w, name, 409, there);

	if (rc == 0 && (there->other || (there->any && !w->overwrite)))
		rc = 409;
	return rc;
}

int store_rules_check_upload(const struct store_work *w)
{
	const struct store_there there = { .any = true };
	const struct etag none = { 0 };

	return holds(w, cond_fields(w->fields, w->nfields), &there, &none) ? 0 : 412;
}

uint64_t store_rules_cost(const struct store_there *there)
{
	return there->any && !there->other ? store_quota_cost(there->size) : 0;
}

/* The cost of an upload of that length, beside what there is of it. */
static uint64_t cost(const struct store_work *w, uint64_t length)
{
	if (w->part == NULL)
		return store_quota_cost(length);
	if (w->part->what == STORE_PART_CREATE)
		return STORE_QUOTA_FILE + store_quota_cost(length);
	return store_quota_cost(w->size + length) - store_quota_cost(w->size);
}

static bool disk_has_room(const struct store_work *w, uint64_t length)
{
	struct statvfs fs;

	return fstatvfs(w->at.fd, &fs) < 0 || fs.f_blocks == 0 ||
	       length <= (uint64_t)fs.f_bavail * fs.f_frsize;
}

int store_rules_measure(struct store_work *w, uint64_t replaced)
{
	uint64_t length = w->length;

	w->replaced = replaced;
	if (w->part != NULL && w->part->length != BODY_UNKNOWN)
		length = w->part->length - w->size;
	/* A form is longer than its files, by little. */
	if (w->form != NULL || length == BODY_UNKNOWN)
		return 0;
	return disk_has_room(w, length)
		       ? store_quota_check(&w->quota, &w->at, cost(w, length), replaced)
		       : 507;
}
