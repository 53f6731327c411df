/*
 * answer: h2d_reply_file(): the way from a name to a response. The cache image first, by reference
 * and without a system call; else the disk, step by step. Called by handlers, on the loop; never
 * blocks.
 *
 * A directory without any of its index files is 404: no listing, and no word on what exists.
 */
#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "cache/files_private.h"
#include "cache/type.h"
#include "http/cond.h"
#include "http/date.h"
#include "http/path.h"

enum { ROOT = 0 }; /* one document root answers every name */

/* A reply that may need the disk; in the request's arena. */
struct answer {
	struct h2d_req *req;
	struct files *files;
	enum h2d_tree tree;
	struct slice path;      /* below root, the folder of uploads included */
	struct slice name;      /* what is tried: path, or path and an index name */
	bool dir;               /* path ends in a slash */
	unsigned index;         /* which index name */
};

/* What a file's head says. */
struct meta {
	struct slice type, etag, last_modified;
	time_t mtime;
};

static void next_index(struct answer *a);

static void fail(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	req_error(req, status);
}

static enum cond_result conditions(const struct h2d_req *req, const struct meta *m)
{
	const struct cond_validators v = { .etag = m->etag, .last_modified = m->mtime };

	if (req->nfields == 0 || (req->method != H2D_GET && req->method != H2D_HEAD))
		return COND_PROCEED;
	return cond_check(req->fields, req->nfields, &v, clock_wall().tv_sec);
}

static int add_fields(struct h2d_req *req, const struct meta *m, enum h2d_tree tree, int status)
{
	int rc = 0;

	if (status == 200)
		rc |= reply_add(req, SLICE("content-type"), m->type);
	if (m->etag.n > 0)
		rc |= reply_add(req, SLICE("etag"), m->etag);
	/* RFC 9110, 8.8.2.1: never later than the date of the response. */
	if (m->mtime <= clock_wall().tv_sec)
		rc |= reply_add(req, SLICE("last-modified"), m->last_modified);
	if (tree == H2D_UPLOAD_DIR) {
		rc |= reply_add(req, SLICE("x-content-type-options"), SLICE("nosniff"));
		rc |= reply_add(req, SLICE("content-security-policy"), SLICE("sandbox"));
	}
	return rc;
}

/* The body is set; what m points to lives as long as it. */
static void reply_with(struct h2d_req *req, const struct meta *m, enum h2d_tree tree)
{
	enum cond_result cond = conditions(req, m);
	unsigned nfields = req->reply.nfields;
	int status = cond == COND_NOT_MODIFIED ? 304 : 200;

	if (cond == COND_FAILED) {
		fail(req, 412);
		return;
	}
	if (add_fields(req, m, tree, status) < 0) {
		req->reply.nfields = nfields;
		fail(req, 500);
		return;
	}
	reply_send(req, status);
}

/* --- from the image ------------------------------------------------------------------------------- */

static bool reply_cached(struct files *f, struct h2d_req *req, enum h2d_tree tree, struct slice path)
{
	struct view *v = f->view;
	const struct image_entry *e;
	const char *strings;

	if (v == NULL)
		return false;
	e = view_find(v, ROOT, path, clock_ms());
	if (e == NULL)
		return false;
	COUNT(cache_hits, 1);
	strings = image_strings(v->head);
	body_memory(&req->reply.body, v->segments[e->segment] + e->at, e->n, &v->ref);
	reply_with(req,
		&(struct meta){
			.type = slice_of(strings + e->type.at, e->type.n),
			.etag = slice_of(e->etag, IMAGE_ETAG),
			.last_modified = slice_of(e->last_modified, IMAGE_DATE),
			.mtime = e->mtime,
		},
		tree);
	return true;
}

/* --- from the disk -------------------------------------------------------------------------------- */

static void reply_disk(struct answer *a, struct disk_file *file)
{
	struct h2d_req *req = a->req;
	char *date = arena_alloc(&req->arena, DATE_LEN + 1);
	struct meta m = {
		.type = type_make(mime_find(a->name), a->files->roots[ROOT].charset, &req->arena),
		.etag = etag_slice(&file->etag),
		.mtime = ident_mtime(&file->ident),
	};

	if (date == NULL || m.type.p == NULL) {
		fail(req, ERR_NO_MEMORY->status);
		return;
	}
	date_format(m.mtime, date);
	m.last_modified = slice_of(date, DATE_LEN);
	COUNT(cache_misses, 1);
	req->reply.body.left = file->ident.size;
	reply_with(req, &m, a->tree);
}

/* "/dir" is asked for at "/dir/", where its relative links are right. */
static void redirect(struct answer *a)
{
	struct h2d_req *req = a->req;
	struct slice at = path_encode(req->path, &req->arena), query = req->query;
	char *location = NULL;

	if (!field_value_valid(query))
		query.n = 0;

	if (at.p != NULL && at.n > 0 && at.p[at.n - 1] == '/') {
		/* The handler's name for it, not the client's: there is nowhere to send the client. */
		fail(req, 404);
		return;
	}
	if (at.p != NULL)
		location = arena_printf(&req->arena, "%.*s/%s%.*s", SLICE_ARG(at),
			query.n > 0 ? "?" : "", SLICE_ARG(query));
	if (location == NULL || reply_add(req, SLICE("location"), slice_str(location)) < 0) {
		fail(req, ERR_NO_MEMORY->status);
		return;
	}
	fail(req, 301);
}

/* The machine is short of something: said once a second. */
static void shortage(struct disk *d, const char *path, int rc)
{
	if (clock_ms() - d->logged_ms >= 1000) {
		d->logged_ms = clock_ms();
		log_error("%s: %s", path, strerror(-rc));
	}
}

static void opening_failed(struct answer *a, const char *path, int rc)
{
	switch (-rc) {
	case EISDIR:
		if (!a->dir && a->tree == H2D_DOCUMENT_ROOT) {
			redirect(a);
			return;
		}
		/* fall through */
	case ENOENT:
	case ENOTDIR:
	case EXDEV:
	case ELOOP:
	case ENAMETOOLONG:
	case ENXIO:
	case ENODEV:
		if (a->dir)
			next_index(a);
		else
			fail(a->req, 404);
		return;
	case EACCES:
	case EPERM:
		fail(a->req, 403);
		return;
	default:
		shortage(a->files->disk, path, rc);
		fail(a->req, 503);
	}
}

static void tagged(struct disk_file *file, int rc)
{
	struct answer *a = file->ctx;

	if (rc == 0) {
		reply_disk(a, file);
		return;
	}
	shortage(a->files->disk, file->path, rc);
	fail(a->req, 503);
}

static void opened(struct disk_file *file, int rc)
{
	struct answer *a = file->ctx;

	if (rc == 0) {
		file->fn = tagged;
		rc = disk_file_etag(file);
		if (rc != DISK_LATER)
			tagged(file, rc);
		return;
	}
	opening_failed(a, file->path, rc);
}

static void try_disk(struct answer *a)
{
	struct disk_file *file =
		disk_file_new(a->files->disk, a->req, ROOT, a->name, opened, a);
	int rc;

	body_close(&a->req->reply.body);
	if (file == NULL) {
		fail(a->req, ERR_NO_MEMORY->status);
		return;
	}
	/* From here on a request that goes away closes it. */
	disk_file_attach(file, &a->req->reply.body);
	rc = disk_file_open(file);
	if (rc != DISK_LATER)
		opened(file, rc);
}

/* --- names ------------------------------------------------------------------------------------------ */

static struct slice join(struct h2d_req *req, struct slice a, struct slice b)
{
	char *p = arena_alloc(&req->arena, a.n + b.n);

	if (p == NULL)
		return (struct slice){ 0 };
	memcpy(p, a.p, a.n);
	memcpy(p + a.n, b.p, b.n);
	return slice_of(p, a.n + b.n);
}

static void try_name(struct answer *a)
{
	if (a->name.p == NULL) {
		fail(a->req, ERR_NO_MEMORY->status);
		return;
	}
	body_close(&a->req->reply.body);
	if (!reply_cached(a->files, a->req, a->tree, a->name))
		try_disk(a);
}

/* The index name at a->index was not there: the one after it. */
static void next_index(struct answer *a)
{
	const struct files_root *r = &a->files->roots[ROOT];

	a->index++;
	if (a->index >= r->nindex) {
		fail(a->req, 404);
		return;
	}
	a->name = join(a->req, a->path, slice_str(r->index[a->index]));
	try_name(a);
}

/* path_parse() makes no other; a handler's own name might be one. */
static bool canonical(struct slice path)
{
	if (path.n == 0 || path.p[0] != '/' || memchr(path.p, '\0', path.n) != NULL)
		return false;
	for (size_t i = 0; i + 1 < path.n; i++) {
		size_t rest = path.n - i - 1;
		const char *p = path.p + i + 1;

		if (path.p[i] != '/' || *p != '.')
			continue;
		if (rest == 1 || p[1] == '/' || (p[1] == '.' && (rest == 2 || p[2] == '/')))
			return false;
	}
	return true;
}

void h2d_reply_file(struct h2d_req *req, enum h2d_tree tree, const char *path, size_t len)
{
	struct files *f = req->env->files;
	struct slice name = slice_of(path, len);
	struct answer *a;

	if (f == NULL || f->nroots == 0 || len == 0) {
		fail(req, 404);
		return;
	}
	if (tree == H2D_DOCUMENT_ROOT && reply_cached(f, req, tree, name))
		return;
	/* Only names in canonical form are in an image; the disk would take others. */
	if (!canonical(name) ||
		(tree == H2D_UPLOAD_DIR && (f->uploads[ROOT].n == 0 || path[len - 1] == '/'))) {
		fail(req, 404);
		return;
	}
	a = arena_zalloc(&req->arena, sizeof(*a));
	if (a == NULL) {
		fail(req, ERR_NO_MEMORY->status);
		return;
	}
	a->req = req;
	a->files = f;
	a->tree = tree;
	a->path = join(req, tree == H2D_UPLOAD_DIR ? f->uploads[ROOT] : slice_of("", 0), name);
	a->dir = path[len - 1] == '/';
	a->name = a->path;
	if (a->path.p != NULL && a->dir) {
		a->index = UINT_MAX; /* wraps to the first */
		next_index(a);
	} else {
		try_name(a);
	}
}
