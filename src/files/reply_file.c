/*
 * reply_file: h2d_reply_file(): the way from a name to a representation of a file. The cache image
 * first, by reference and without a system call; else the disk, step by step. Called by handlers,
 * on the loop; never blocks. reply_conditional.c makes the response. 404: a directory without an
 * index file, unless autoindex is on; a segment that begins with a dot.
 */
#include "files/reply_file.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/counters.h"
#include "files/archive.h"
#include "files/listing.h"
#include "files/reply_conditional.h"
#include "http/cond.h"
#include "http/mime.h"
#include "http/path.h"
#include "request/gate.h"
#include "request/handler_call.h"
#include "request/trace.h"

static void reply_found(struct h2d_req *req, const struct reply_conditional *r, struct slice path,
	unsigned seen, int page_status)
{
	if (page_status == 0 && req->location->nrules > 0)
		reply_disk_settings(req, path);
	if (page_status == 0)
		reply_conditional(req, r, seen);
	else
		reply_conditional_page(req, r, page_status);
}

/* --- the form of a cached file ---------------------------------------------------------------- */

static void tell_coding(struct h2d_req *req, enum coding coding, unsigned available)
{
	char list[32] = "";

	for (unsigned c = 0; c < CODINGS; c++)
		if (available >> c & 1)
			sprintf(list + strlen(list), " %s", coding_names[c].p);
	if (coding < CODINGS)
		TRACE_STEP(req, CODING, NULL, "%s; available:%s", coding_names[coding].p, list);
	else if (available == 0)
		TRACE_STEP(req, CODING, NULL, "none: the cache has no compressed form");
	else
		TRACE_STEP(req, CODING, NULL, "none: the client accepts none of%s", list);
}

/* The codings of e that are files beside it. */
static unsigned sidecars_of(const struct image_entry *e)
{
	return e->flags / IMAGE_SIDECAR & ((1u << CODINGS) - 1);
}

/* True if accept-encoding may select another form of e for location; e has those of all of them. */
static bool varies(const struct files *f, const struct location *location,
	const struct image_entry *e, unsigned root, struct slice path)
{
	return (e->flags & IMAGE_VARIES) != 0 &&
	       (site_codings(location, f->codings) != 0 ||
		       (location->precompressed && sidecars_of(e) != 0)) &&
	       (location->types == f->roots[root].types ||
		       mime_packs(location->types, mime_find(location->types, path)));
}

/* The form for a client that sends accept-encoding. An error page is sent in any, whatever the
 * client accepts. */
static enum coding choose_coding(
	struct files *f, struct h2d_req *req, const struct image_entry *e, int page_status)
{
	unsigned available = 0, sidecars = sidecars_of(e);
	enum coding coding;

	for (unsigned c = 0; c < CODINGS; c++)
		available |= (unsigned)(e->variants[c].n > 0) << c;
	if (!req->location->precompressed)
		available &= ~sidecars;
	available &= sidecars | ~req->location->refused_codings;
	coding = coding_memo_choose(&f->memo, req->fields, req->nfields, available);
	if (__builtin_expect(req->env->conf.traced, false))
		tell_coding(req, coding, available);
	return coding == CODING_NONE && page_status != 0 ? CODING_IDENTITY : coding;
}

/* --- from the image --------------------------------------------------------------------------- */

/*
 * Copies the reply's facts: the index ends with its image, perhaps before the head is sent. False:
 * memory is out.
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
static bool set_charset(
	struct h2d_req *req, const char *of_root, struct slice path, struct slice *type)
{
	struct slice charset = req->location->charset;

	/* Usually the same string of the configuration. */
	if (charset.p == of_root || slice_eq(charset, slice_str(of_root)))
		return true;
	*type = mime_content_type(mime_find(req->location->types, path), charset, &req->arena);
	return type->p != NULL;
}

static bool reply_cached(struct files *f, struct h2d_req *req, unsigned root, struct slice path,
	unsigned seen, int page_status)
{
	struct image_map *v = f->image;
	const struct image_entry *e;
	const struct image_body *b;
	struct segment_map *s;
	struct reply_conditional r;

	if (v == NULL)
		return false;
	e = image_map_find(v, root, path, clock_ms());
	if (e == NULL)
		return false;
	COUNT(cache_hits, 1);
	req->record.source = REQ_SOURCE_IMAGE;
	if (__builtin_expect(req->env->conf.traced, false))
		trace_found(req, root, path, "cache");
	r.varies = varies(f, req->location, e, root, path);
	r.coding = CODING_IDENTITY;
	r.whole = false;
	if (r.varies && (seen & COND_ACCEPT_ENCODING))
		r.coding = choose_coding(f, req, e, page_status);
	else if (r.varies)
		TRACE_STEP(req, CODING, NULL, TRACE_NO_CODING);
	else if ((e->flags & IMAGE_VARIES) != 0 && site_codings(req->location, f->codings) == 0)
		TRACE_STEP(
			req, CODING, TRACE_AT(req->location, compress), "none: compress has none");
	else if (e->flags & IMAGE_VARIES)
		TRACE_STEP(req, CODING, TRACE_AT(req->location, compress_types),
			"none: compress-types does not have the type of the file");
	if (r.coding == CODING_NONE) {
		reply_conditional_refuse(req, true, 406);
		return true;
	}
	b = r.coding == CODING_IDENTITY ? &e->body : &e->variants[r.coding];
	if (!copy_fields(req, e, b, image_strings(v->index.head) + e->type.at, &r) ||
		!set_charset(req, f->roots[root].charset, path, &r.type) ||
		(doc_root_is_upload(&f->roots[root], path) && reply_conditional_sandbox(req) < 0)) {
		reply_conditional_no_memory(req);
		return true;
	}
	r.mtime = e->mtime;
	s = v->segments[b->segment];
	body_memory(&req->reply.body, s->bytes + b->at, b->n, &s->ref);
	reply_found(req, &r, path, seen, page_status);
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static void missing(struct file_reply *a, bool dir);
static void from_disk(struct file_reply *a);

static void try_name(struct file_reply *a)
{
	const struct image_map *v = a->files->image;

	if (a->name.p == NULL) {
		reply_disk_no_memory(a);
		return;
	}
	body_close(&a->req->reply.body);
	/* The gate has checked the requested path; index and extensions change it. */
	if (a->req->site->hides && a->page_status == 0 &&
		site_hides(site_location(a->req->site, a->name), a->name)) {
		missing(a, false);
		return;
	}
	if (a->way == FILE_REPLY_SLASHED && v != NULL &&
		image_map_find(v, a->root, a->name, clock_ms()) != NULL) {
		reply_names_take_away_slash(a);
		return;
	}
	if (a->way != FILE_REPLY_SLASHED &&
		reply_cached(a->files, a->req, a->root, a->name, a->seen, a->page_status))
		return;
	from_disk(a);
}

static void fallback_begins(struct h2d_req *req, enum gate_result result, void *ctx)
{
	(void)req;
	if (result == GATE_GO)
		try_name(ctx);
}

static void look_in(struct file_reply *a, const struct location *location)
{
	a->root = location->root;
	a->links = reply_file_links(location, a->sandboxed);
}

/* Makes location's settings those of responses with name, from now on. */
static void settle_location(struct file_reply *a, const struct location *location)
{
	if (location == a->req->location)
		return;
	a->req->location = location;
	look_in(a, location);
	if (__builtin_expect(a->req->env->conf.traced, false))
		trace_location(a->req);
}

/*
 * No file answers for the path. The fallback is sent with the settings of its own location: those
 * of the path, such as a long cache-control, are for the missing file.
 */
static void nothing_there(struct file_reply *a)
{
	struct h2d_req *req = a->req;

	if (a->own && !a->sandboxed && a->of_path->proxy != NULL && a->page_status == 0) {
		settle_location(a, a->of_path);
		if (__builtin_expect(req->env->conf.traced, false))
			trace_handler(req, req->env->conf.proxy);
		reply_no_fields(&req->reply);
		body_close(&req->reply.body);
		req_hand_to(req, req->env->conf.proxy);
		return;
	}
	if (!a->own || a->sandboxed || a->way == FILE_REPLY_FALLBACK ||
		req->location->fallback.n == 0) {
		reply_disk_fail(a, 404);
		return;
	}
	TRACE_STEP(req, FALLBACK, TRACE_AT(req->location, fallback), "answers with \"%.*s\"",
		SLICE_ARG(req->location->fallback));
	body_close(&req->reply.body);
	a->name = req->location->fallback;
	a->way = FILE_REPLY_FALLBACK;
	settle_location(a, site_location(req->site, a->name));
	fallback_begins(req, gate_pass_file(req, a->name, fallback_begins, a), a);
}

/* A directory, if it is one, without an index file. */
static void no_index(struct file_reply *a)
{
	const struct h2d_req *req = a->req;

	if (req->location->autoindex && a->tree == H2D_DOCUMENT_ROOT && a->page_status == 0) {
		TRACE_STEP(a->req, AUTOINDEX, TRACE_AT(req->location, autoindex),
			"lists the directory");
		listing_reply(
			a->req, &a->files->listings, &a->files->roots[a->root], a->path, a->links);
	} else
		nothing_there(a);
}

static void redirect_to_dir(struct file_reply *a)
{
	struct h2d_req *req = a->req;

	/* The handler's name for it may end so, not the client's: no other path exists. */
	if (req->path.p[req->path.n - 1] == '/')
		reply_disk_fail(a, 404);
	else
		reply_names_send_to(req, req->path, "/");
}

/* A handler's name for a file does not change the response: the path's settings hold. */
static void next_name(struct file_reply *a)
{
	const struct h2d_req *req = a->req;
	bool any = reply_names_next(a);

	if (a->own)
		settle_location(a, any && a->way != FILE_REPLY_SLASHED && a->name.n > req->path.n
					   ? site_location_of_file(req->site, a->of_path, a->name)
					   : a->of_path);
	if (any)
		try_name(a);
	else if (reply_names_is_dir(a))
		no_index(a);
	else
		nothing_there(a);
}

/* Sends the client of "/dir" to "/dir/", where its relative links are right. */
static void missing(struct file_reply *a, bool dir)
{
	bool asked = dir && a->name.p == a->path.p && !reply_names_is_dir(a);

	TRACE_STEP(a->req, FILE, TRACE_AT(a->req->location, root), "\"%.*s\" %s",
		SLICE_ARG(a->name), dir ? "is a directory" : "does not exist");
	if (a->page_status != 0 || a->way == FILE_REPLY_FALLBACK)
		reply_disk_fail(a, 404);
	else if (asked && a->tree == H2D_DOCUMENT_ROOT)
		redirect_to_dir(a);
	else
		next_name(a);
}

/* --- from the disk ---------------------------------------------------------------------------- */

static void opened(struct disk_file *file, int rc);

/* A file without a place is answered for if it is not sent, else opened in its turn. */
static void answer_with_file(struct file_reply *a, struct disk_file *file)
{
	if (file->fd >= 0 || !reply_disk_sends(a, file)) {
		disk_file_sample_first(file);
		disk_file_begin(file);
		reply_disk_send(a, file);
	} else {
		opened(file, disk_file_open_in_turn(file));
	}
}

static void tagged(struct disk_file *file, int rc)
{
	struct file_reply *a = file->ctx;

	if (rc == 0)
		answer_with_file(a, file);
	else if (rc != DISK_LATER)
		reply_disk_refuse(a, file, rc);
}

static void opened(struct disk_file *file, int rc)
{
	struct file_reply *a = file->ctx;

	if (rc == DISK_LATER)
		return;
	if (rc < 0 && reply_disk_is_missing(rc))
		missing(a, rc == -EISDIR);
	else if (rc < 0)
		reply_disk_refuse(a, file, rc);
	else if (a->way == FILE_REPLY_SLASHED)
		reply_names_take_away_slash(a);
	else if (a->page_status != 0)
		answer_with_file(a, file);
	else
		tagged(file, disk_file_etag(file));
}

static void from_disk(struct file_reply *a)
{
	struct disk_file *file = reply_disk_file(a);

	if (file == NULL)
		return;
	file->opened = opened;
	file->tagged = tagged;
	opened(file, disk_file_open(file));
}

/* --- requests --------------------------------------------------------------------------------- */

/* path_parse() makes no other; a handler's own name might. */
static bool is_canonical(struct slice path)
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

/* True if it is in any server's directory of uploads. */
static bool is_upload(const struct h2d_req *req, enum h2d_tree tree, struct slice name, bool own,
	const struct files *f)
{
	const struct location *l = own ? req->location : site_location(req->site, name);

	return tree == H2D_UPLOAD_DIR ||
	       (f != NULL && f->nroots > 0 && doc_root_is_upload(&f->roots[l->root], name));
}

/* Called after the rules of access. */
static void begin_names(struct h2d_req *req, enum gate_result result, void *ctx)
{
	(void)req;
	if (result == GATE_GO)
		next_name(ctx);
}

/* The client requested this name, so req_start() checked its access. */
static bool is_own_name(const struct h2d_req *req, enum h2d_tree tree, struct slice name)
{
	return tree == H2D_DOCUMENT_ROOT && name.n == req->path.n &&
	       (name.p == req->path.p || slice_eq(name, req->path));
}

/* Replies outside the fast path: all but a cached file under its own name. */
static void reply_slowly(
	struct files *f, struct h2d_req *req, enum h2d_tree tree, struct slice name, bool own)
{
	enum gate_result result = GATE_GO;
	struct file_reply *a = arena_zalloc(&req->arena, sizeof(*a));

	if (a == NULL) {
		reply_conditional_no_memory(req);
		return;
	}
	a->req = req;
	a->files = f;
	a->tree = tree;
	a->own = own;
	a->sandboxed = req->reply.sandboxed;
	a->seen = reply_conditional_seen(req);
	a->path = name;
	a->of_path = req->location;
	look_in(a, site_location(req->site, name));
	if (tree == H2D_UPLOAD_DIR) {
		a->path = arena_join(&req->arena, req->location->upload->dir, name);
		a->root = req->site->root;
	}
	if (a->path.p == NULL) {
		reply_disk_no_memory(a);
		return;
	}
	if (!own)
		result = gate_pass_file(req, a->path, begin_names, a);
	begin_names(req, result, a);
}

void h2d_reply_file(struct h2d_req *req, enum h2d_tree tree, const char *path, size_t len)
{
	struct files *f = req->env->files;
	struct slice name = HANDLER_SLICE(req, path, len);
	bool own = is_own_name(req, tree, name);

	HANDLER_CALL();
	if (!HANDLER_MAY(req, ONCE))
		return;
	req->owes = false;
	if (is_upload(req, tree, name, own, f) && reply_conditional_sandbox(req) < 0) {
		reply_conditional_no_memory(req);
		return;
	}
	if (f == NULL || f->nroots == 0 || path_hidden(name)) {
		TRACE_STEP(req, FILE, NULL, "\"%.*s\" is not served: a name begins with a dot",
			SLICE_ARG(name));
		reply_conditional_error(req, 404);
		return;
	}
	if (own && req->location->nextensions == 0) {
		if (reply_cached(f, req, req->location->root, name, reply_conditional_seen(req), 0))
			return;
	} else if (own && req->location->extensions_redirect && reply_names_redirect(req, name)) {
		return;
	}
	/* Only canonical names are in an image; the disk would accept others. */
	if (!is_canonical(name) ||
		(tree == H2D_UPLOAD_DIR && (req->location->upload == NULL || path[len - 1] == '/')))
		reply_conditional_error(req, 404);
	else if (!own || !archive_reply(req, f))
		reply_slowly(f, req, tree, name, own);
}

void reply_file_error_page(struct h2d_req *req, int status, struct slice file)
{
	struct files *f = req->env->files;
	struct file_reply *a = arena_zalloc(&req->arena, sizeof(*a));

	if (a == NULL || f == NULL || f->nroots == 0 || !is_canonical(file)) {
		body_close(&req->reply.body);
		reply_own_page(req, status);
		return;
	}
	a->req = req;
	a->files = f;
	a->tree = H2D_DOCUMENT_ROOT;
	a->path = a->name = file;
	a->of_path = req->location;
	look_in(a, &req->site->all);
	a->seen = reply_conditional_seen(req) & COND_ACCEPT_ENCODING;
	a->page_status = status;
	try_name(a);
}
