/*
 * reply_file: h2d_reply_file(): the way from a name to a representation of a file. The cache image
 * first, by reference and without a system call; else the disk, step by step. Called by handlers,
 * on the loop; never blocks. What the response says is reply_conditional.c's.
 *
 * A directory without any of its index files is 404, with no word on what exists, unless its
 * location says autoindex. A name with a segment that begins with a dot is 404, too.
 */
#include "files/reply_file.h"

#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/files_private.h"
#include "files/listing.h"
#include "files/reply_conditional.h"
#include "http/cond.h"
#include "http/content_type.h"
#include "http/date.h"
#include "http/path.h"
#include "request/gate.h"

/* A reply that may need the disk; in the request's arena. */
struct file_reply {
	struct h2d_req *req;
	struct files *files;
	enum h2d_tree tree;
	struct slice path; /* below root, the folder of uploads included */
	struct slice name; /* what is tried: path, or path and an index name */
	bool dir;          /* path ends in a slash */
	bool plain;        /* the file itself may be sent, not only one beside it */
	unsigned index;    /* which index name */
	unsigned asked;    /* reply_conditional_asked() */
	int page_status;   /* of the error it is the page of; 0: it is no such page */
};

static void next_index(struct file_reply *a);

static void fail(struct file_reply *a, int status)
{
	if (a->page_status == 0) {
		reply_conditional_error(a->req, status);
		return;
	}
	body_close(&a->req->reply.body);
	reply_own_page(a->req, a->page_status);
}

static void reply(
	struct h2d_req *req, const struct reply_conditional *r, unsigned asked, int page_status)
{
	if (page_status == 0)
		reply_conditional(req, r, asked);
	else
		reply_conditional_page(req, r, page_status);
}

/* --- from the image --------------------------------------------------------------------------- */

/*
 * Copies what the reply says of it: the index goes with its image, which may be sooner than the
 * head is sent. False: memory is out.
 */
static bool copy_fields(struct h2d_req *req, const struct image_entry *e,
	const struct image_body *b, const char *type, struct reply_conditional *r)
{
	char *p = arena_alloc(&req->arena, IMAGE_ETAG + IMAGE_DATE + e->type.n);

	if (p == NULL)
		return false;
	r->etag = slice_of(memcpy(p, b->etag, IMAGE_ETAG), IMAGE_ETAG);
	p += IMAGE_ETAG;
	r->last_modified = slice_of(memcpy(p, e->last_modified, IMAGE_DATE), IMAGE_DATE);
	p += IMAGE_DATE;
	r->type = slice_of(memcpy(p, type, e->type.n), e->type.n);
	return true;
}

/* The types of an image carry their root's charset. False: memory is out. */
static bool set_charset(struct h2d_req *req, struct slice path, struct slice *type)
{
	struct slice charset = req->location->charset;

	if (slice_eq(charset, req->site->root_charset))
		return true;
	*type = content_type_make(mime_find(path), charset, &req->arena);
	return type->p != NULL;
}

/* An error page is sent in some form, whatever the client takes. */
static enum coding choose(
	struct files *f, const struct h2d_req *req, const struct image_entry *e, int page_status)
{
	unsigned available = 0;
	enum coding coding;

	for (unsigned c = 0; c < CODINGS; c++)
		available |= (unsigned)(e->variants[c].n > 0) << c;
	coding = coding_memo_choose(&f->memo, req->fields, req->nfields, available);
	return coding == CODING_NONE && page_status != 0 ? CODING_IDENTITY : coding;
}

static bool reply_cached(
	struct files *f, struct h2d_req *req, struct slice path, unsigned asked, int page_status)
{
	struct image_map *v = f->image;
	const struct image_entry *e;
	const struct image_body *b;
	struct segment_map *s;
	struct reply_conditional r;

	if (v == NULL)
		return false;
	e = image_map_find(v, req->site->root, path, clock_ms());
	if (e == NULL)
		return false;
	COUNT(cache_hits, 1);
	r.varies = (e->flags & IMAGE_VARIES) != 0;
	r.coding = CODING_IDENTITY;
	if (r.varies && (asked & COND_ACCEPT_ENCODING))
		r.coding = choose(f, req, e, page_status);
	if (r.coding == CODING_NONE) {
		reply_conditional_refuse(req, true, 406);
		return true;
	}
	b = r.coding == CODING_IDENTITY ? &e->body : &e->variants[r.coding];
	if (!copy_fields(req, e, b, image_strings(v->head) + e->type.at, &r) ||
		!set_charset(req, path, &r.type)) {
		reply_conditional_error(req, ERR_NO_MEMORY->status);
		return true;
	}
	r.mtime = e->mtime;
	s = v->segments[b->segment];
	body_memory(&req->reply.body, s->bytes + b->at, b->n, &s->ref);
	reply(req, &r, asked, page_status);
	return true;
}

/* --- from the disk ---------------------------------------------------------------------------- */

static void reply_disk(struct file_reply *a, struct disk_file *file)
{
	struct h2d_req *req = a->req;
	char *date = arena_alloc(&req->arena, DATE_LEN + 1);
	const struct mime *mime = mime_find(a->name);
	struct reply_conditional r = {
		.type = content_type_make(mime, req->location->charset, &req->arena),
		.etag = etag_slice(&file->etag),
		.mtime = file->mtime,
		.coding = file->coding,
		.varies = content_type_varies(mime, a->files->codings, file->has_beside),
	};

	COUNT(cache_misses, 1);
	if (date == NULL || r.type.p == NULL) {
		fail(a, ERR_NO_MEMORY->status);
		return;
	}
	if (r.varies && r.coding == CODING_IDENTITY && !a->plain) {
		reply_conditional_refuse(req, true, 406);
		return;
	}
	date_format(r.mtime, date);
	r.last_modified = slice_of(date, DATE_LEN);
	req->reply.body.left = file->file_id.size;
	reply(req, &r, a->asked, a->page_status);
}

/* "/dir" is asked for at "/dir/", where its relative links are right. */
static void redirect(struct file_reply *a)
{
	struct h2d_req *req = a->req;
	struct slice at = path_encode(req->path, &req->arena), query = req->query;
	char *location = NULL;

	if (!field_value_valid(query))
		query.n = 0;

	if (at.p != NULL && at.n > 0 && at.p[at.n - 1] == '/') {
		/* The handler's name for it, not the client's: there is nowhere to send the client.
		 */
		fail(a, 404);
		return;
	}
	if (at.p != NULL)
		location = arena_printf(&req->arena, "%.*s/%s%.*s", SLICE_ARG(at),
			query.n > 0 ? "?" : "", SLICE_ARG(query));
	if (location == NULL || reply_add(req, SLICE("location"), slice_str(location)) < 0) {
		fail(a, ERR_NO_MEMORY->status);
		return;
	}
	fail(a, 301);
}

/* The machine is short of something: said once a second. */
static void shortage(struct disk *d, const char *path, int rc)
{
	if (clock_ms() - d->logged_ms >= 1000) {
		d->logged_ms = clock_ms();
		log_error("%s: %s", path, strerror(-rc));
	}
}

static void opening_failed(struct file_reply *a, const char *path, int rc)
{
	switch (-rc) {
	case EISDIR:
		if (!a->dir && a->tree == H2D_DOCUMENT_ROOT && a->page_status == 0) {
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
			fail(a, 404);
		return;
	case EACCES:
	case EPERM:
		log_peer(LEVEL_INFO, "%s: %s", path, strerror(-rc));
		fail(a, 403);
		return;
	default:
		shortage(a->files->disk, path, rc);
		fail(a, 503);
	}
}

static void tagged(struct disk_file *file, int rc)
{
	struct file_reply *a = file->ctx;

	if (rc == 0) {
		reply_disk(a, file);
		return;
	}
	shortage(a->files->disk, file->path, rc);
	fail(a, 503);
}

static void opened(struct disk_file *file, int rc)
{
	struct file_reply *a = file->ctx;

	if (rc < 0) {
		opening_failed(a, file->path, rc);
		return;
	}
	if (a->page_status != 0) {
		reply_disk(a, file);
		return;
	}
	file->fn = tagged;
	rc = disk_file_etag(file);
	if (rc != DISK_LATER)
		tagged(file, rc);
}

/*
 * Files beside the one that is asked for may hold it in a coding, made by other programs. Without
 * codings of our own the answer varies only if there is one, so all are looked for.
 */
static void look_beside(struct file_reply *a, struct disk_file *file)
{
	const struct h2d_req *req = a->req;
	unsigned left = (1u << CODINGS) - 1;
	enum coding coding;

	a->plain = true;
	if (!mime_find(a->name)->compressible)
		return;
	if (a->asked & COND_ACCEPT_ENCODING) {
		while ((coding = coding_memo_choose(
				&a->files->memo, req->fields, req->nfields, left)) < CODINGS) {
			disk_file_beside(file, coding, true);
			left &= ~(1u << coding);
		}
		a->plain = coding == CODING_IDENTITY || a->page_status != 0;
	}
	for (unsigned c = 0; c < CODINGS && a->files->codings == 0; c++)
		if (left >> c & 1)
			disk_file_beside(file, (enum coding)c, false);
}

static void try_disk(struct file_reply *a)
{
	struct disk_file *file =
		disk_file_new(a->files->disk, a->req, a->req->site->root, a->name, opened, a);
	int rc;

	body_close(&a->req->reply.body);
	if (file == NULL) {
		fail(a, ERR_NO_MEMORY->status);
		return;
	}
	/* From here on a request that goes away closes it. */
	disk_file_attach(file, &a->req->reply.body);
	look_beside(a, file);
	rc = disk_file_open(file);
	if (rc != DISK_LATER)
		opened(file, rc);
}

/* --- names ------------------------------------------------------------------------------------ */

static struct slice join(struct h2d_req *req, struct slice a, struct slice b)
{
	char *p = arena_alloc(&req->arena, a.n + b.n);

	if (p == NULL)
		return (struct slice){ 0 };
	memcpy(p, a.p, a.n);
	memcpy(p + a.n, b.p, b.n);
	return slice_of(p, a.n + b.n);
}

static void try_name(struct file_reply *a)
{
	if (a->name.p == NULL) {
		fail(a, ERR_NO_MEMORY->status);
		return;
	}
	body_close(&a->req->reply.body);
	if (!reply_cached(a->files, a->req, a->name, a->asked, a->page_status))
		try_disk(a);
}

/* A directory, if it is one, in which nothing is that its place calls an index. */
static void no_index(struct file_reply *a)
{
	const struct h2d_req *req = a->req;

	if (req->location->autoindex && a->tree == H2D_DOCUMENT_ROOT && a->page_status == 0)
		listing_reply(a->req, &a->files->listings, a->files->roots[req->site->root].root,
			a->path);
	else
		fail(a, 404);
}

/* The index name at a->index was not there: the one after it. */
static void next_index(struct file_reply *a)
{
	const struct location *location = a->req->location;

	do
		a->index++;
	while (a->index < location->nindex && path_hidden_name(location->index[a->index]));
	if (a->index >= location->nindex) {
		no_index(a);
		return;
	}
	a->name = join(a->req, a->path, location->index[a->index]);
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

/*
 * What strangers uploaded must not run as a page of this site, by whatever name it is asked for.
 * Said with every status: errors, too, carry content.
 */
static int add_sandbox(struct h2d_req *req, enum h2d_tree tree, struct slice name)
{
	struct slice uploads = req->site->uploads;
	int rc = 0;

	if (tree != H2D_UPLOAD_DIR && (uploads.n == 0 || !slice_starts(name, uploads) ||
					      (name.n > uploads.n && name.p[uploads.n] != '/')))
		return 0;
	rc |= reply_add(req, SLICE("x-content-type-options"), SLICE("nosniff"));
	rc |= reply_add(req, SLICE("content-security-policy"), SLICE("sandbox"));
	return rc;
}

/* Who may have it was asked. */
static void begin(struct h2d_req *req, enum gate_result result, void *ctx)
{
	struct file_reply *a = ctx;

	(void)req;
	if (result != GATE_GO)
		return;
	if (a->dir) {
		a->index = UINT_MAX; /* wraps to the first */
		next_index(a);
	} else {
		try_name(a);
	}
}

/* The client asked for it by this name, so req_start() asked who may. */
static bool is_own_name(const struct h2d_req *req, enum h2d_tree tree, struct slice name)
{
	return tree == H2D_DOCUMENT_ROOT && name.p == req->path.p && name.n == req->path.n;
}

void h2d_reply_file(struct h2d_req *req, enum h2d_tree tree, const char *path, size_t len)
{
	struct files *f = req->env->files;
	struct slice name = slice_of(path, len);
	enum gate_result result = GATE_GO;
	struct file_reply *a;
	bool own = is_own_name(req, tree, name);
	unsigned asked;

	if (add_sandbox(req, tree, name) < 0) {
		reply_conditional_error(req, ERR_NO_MEMORY->status);
		return;
	}
	if (f == NULL || f->nroots == 0 || path_hidden(name)) {
		reply_conditional_error(req, 404);
		return;
	}
	asked = reply_conditional_asked(req);
	if (own && reply_cached(f, req, name, asked, 0))
		return;
	/* Only names in canonical form are in an image; the disk would take others. */
	if (!canonical(name) ||
		(tree == H2D_UPLOAD_DIR && (req->site->uploads.n == 0 || path[len - 1] == '/'))) {
		reply_conditional_error(req, 404);
		return;
	}
	a = arena_zalloc(&req->arena, sizeof(*a));
	if (a == NULL) {
		reply_conditional_error(req, ERR_NO_MEMORY->status);
		return;
	}
	a->req = req;
	a->files = f;
	a->tree = tree;
	a->asked = asked;
	a->path = join(req, tree == H2D_UPLOAD_DIR ? req->site->uploads : slice_of("", 0), name);
	a->dir = path[len - 1] == '/';
	a->name = a->path;
	if (a->path.p == NULL) {
		fail(a, ERR_NO_MEMORY->status);
		return;
	}
	if (!own)
		result = gate_pass_file(req, a->path, begin, a);
	if (result == GATE_GO)
		begin(req, result, a);
}

void reply_file_error_page(struct h2d_req *req, int status, struct slice file)
{
	struct files *f = req->env->files;
	struct file_reply *a = arena_zalloc(&req->arena, sizeof(*a));

	if (a == NULL || f == NULL || f->nroots == 0 || !canonical(file)) {
		body_close(&req->reply.body);
		reply_own_page(req, status);
		return;
	}
	a->req = req;
	a->files = f;
	a->tree = H2D_DOCUMENT_ROOT;
	a->path = a->name = file;
	a->asked = reply_conditional_asked(req) & COND_ACCEPT_ENCODING;
	a->page_status = status;
	try_name(a);
}
