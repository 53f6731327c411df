/*
 * listing: see listing.h. A thread reads, sorts and writes the page (listing_text.c), the loop
 * replies with it. The page is copied as it is sent; so it can be taken from a stream that hangs,
 * for which it is made again when it continues.
 */
#include "files/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "files/reply_conditional.h"
#include "files/reply_file.h"
#include "http/coding.h"
#include "http/cond.h"
#include "http/path.h"
#include "request/req_client.h"
#include "share/access.h"
#include "src/files/page_parts.h"

/* page_policy (http/page.h) with scripts, that show pictures, sound and film; and with the form. */
#define LISTING_POLICY(styles, scripts) \
	SLICE_LIT("default-src 'none'; img-src 'self' data:; media-src 'self'; " \
		  "style-src " PAGE_CSS_HASH " " LIST_CSS_HASH styles \
		  "; script-src " LIST_JS_HASH scripts "; connect-src 'self'; base-uri 'none'; " \
		  "form-action 'self'; frame-ancestors 'self'")

static const struct slice list_policy = LISTING_POLICY("", "");
static const struct slice form_policy =
	LISTING_POLICY(" " FORM_CSS_HASH, " " FORM_JS_HASH " " EDIT_JS_HASH);

struct listing {
	struct listing_reader reader;
	struct listings *all;
	struct h2d_req *req;
	bool replied; /* the head is sent: only the same text may follow */
	bool failed;
	size_t at;        /* bytes of the text that are emitted */
	size_t promised;  /* the last result of ready(), not emitted yet */
	char *kept;       /* the promised bytes, while the text is away */
	struct etag etag; /* of the replied text */
};

static struct listing *listing_of(struct listing_reader *r)
{
	return LIST_ENTRY(r, struct listing, reader);
}

/* The bytes promised to the stream stay. */
static bool let_go(struct listing_reader *r)
{
	struct listing *l = listing_of(r);

	if (l->promised == 0)
		return true;
	l->kept = malloc(l->promised);
	if (l->kept == NULL)
		return false;
	memcpy(l->kept, r->text->bytes.p + l->at, l->promised);
	return true;
}

/* --- the source ------------------------------------------------------------------------------- */

static ssize_t listing_ready(struct body *b, size_t want)
{
	struct listing *l = b->src;

	if (l->failed)
		return BODY_FAILED;
	if (l->kept != NULL)
		return (ssize_t)(l->promised < want ? l->promised : want);
	if (l->reader.text == NULL && listing_text_ask(l->all, &l->reader) < 0)
		return BODY_FAILED;
	if (!l->reader.text->made)
		return BODY_LATER;
	l->promised = b->left < want ? b->left : want;
	return (ssize_t)l->promised;
}

/* Copied: a connection that hangs must not keep the page. */
static int listing_emit(struct body *b, size_t n, struct outq *q)
{
	struct listing *l = b->src;
	const char *p = l->kept != NULL ? l->kept : l->reader.text->bytes.p + l->at;
	int rc = outq_copy(q, p, n);

	l->at += n;
	b->left -= n;
	l->promised = 0;
	free(l->kept);
	l->kept = NULL;
	listing_text_sent(&l->reader);
	return rc;
}

/* At its end, or the request ended. */
static void listing_close(struct body *b)
{
	struct listing *l = b->src;

	listing_text_leave(&l->reader);
	free(l->kept);
}

static const struct body_ops listing_ops = {
	.name = "listing",
	.ready = listing_ready,
	.emit = listing_emit,
	.close = listing_close,
};

/* --- the reply -------------------------------------------------------------------------------- */

void listing_refuse(struct h2d_req *req, const char *what, const char *path, int rc)
{
	bool large = rc == -E2BIG, refused = large || rc == -EACCES || rc == -EPERM;
	int status = reply_disk_is_missing(rc) ? 404 : refused ? 403 : ERR_NO_MEMORY->status;

	if (status != 404)
		log_peer(large           ? LEVEL_WARN
			 : status == 403 ? LEVEL_INFO
					 : LEVEL_ERROR,
			"%s %s: %s; sending %d", what, path,
			large ? "too many files or directories" : strerror(-rc), status);
	reply_conditional_error(req, status);
}

/* 200, 304 or 412. No date shows every change: conditions on dates are ignored. */
static int status_of(const struct h2d_req *req, const struct listing *l)
{
	const struct cond_validators v = { .etag = etag_slice(&l->etag) };
	unsigned seen = cond_fields(req->fields, req->nfields);

	seen &= ~(unsigned)(COND_IF_MODIFIED_SINCE | COND_IF_UNMODIFIED_SINCE);
	switch (cond_check(req->fields, req->nfields, seen, &v, clock_wall().tv_sec)) {
	case COND_FAILED:
		return 412;
	case COND_NOT_MODIFIED:
		return 304;
	default:
		return 200;
	}
}

/*
 * The sandbox of uploads would block forms: uploaders chose only the names on this page, and each
 * is escaped.
 */
static int add_policy(struct h2d_req *req, const struct listing *l)
{
	static const struct slice name = SLICE_LIT("content-security-policy");
	bool form = l->reader.key.action[0] != '\0';

	for (unsigned i = 0; i < req->reply.nfields; i++)
		if (slice_eq(req->reply.fields[i].name, name)) {
			/* The sandbox of uploads would block the search form. */
			if (form || slice_eq(req->reply.fields[i].value, SLICE("sandbox")))
				req->reply.fields[i].value = form ? form_policy : list_policy;
			return 0;
		}
	return reply_add(req, name, form ? form_policy : list_policy);
}

static void reply_listing(struct h2d_req *req, struct listing *l)
{
	int status = status_of(req, l), rc = 0;
	unsigned nfields = req->reply.nfields;

	rc |= reply_vary(req, SLICE("accept"));
	if (site_codings(req->location, l->all->codings) != 0)
		rc |= reply_vary(req, SLICE("accept-encoding"));
	if (rc == 0 && status == 412) {
		reply_conditional_error(req, status);
		return;
	}
	if (status == 200)
		rc |= reply_type(req, l->reader.key.json ? SLICE("application/json")
							 : SLICE("text/html; charset=utf-8"));
	if (status == 200 && l->reader.key.coding != CODING_IDENTITY)
		rc |= reply_add(req, SLICE("content-encoding"), coding_names[l->reader.key.coding]);
	/* Also with 304: a cache would use another policy for its page. */
	if (!l->reader.key.json)
		rc |= add_policy(req, l);
	rc |= reply_add(req, SLICE("etag"), etag_slice(&l->etag));
	rc |= reply_cache_control(req, SLICE("no-cache"));
	if (l->reader.text->cut)
		rc |= reply_add(req, SLICE("x-listing"), SLICE("incomplete"));
	if (rc < 0) {
		req->reply.nfields = nfields;
		reply_conditional_error(req, ERR_NO_MEMORY->status);
		return;
	}
	req->reply.body.left = l->reader.text->bytes.n;
	l->replied = true;
	reply_send(req, status);
}

static void got(struct listing_reader *r, int result)
{
	struct listing *l = listing_of(r);

	if (l->replied) {
		/* The released text is back, if it is unchanged. */
		l->failed =
			result != 0 || !slice_eq(etag_slice(&l->etag), etag_slice(&r->text->etag));
		req_resume(l->req);
	} else if (result != 0) {
		listing_refuse(l->req, "listing", l->reader.key.path, result);
	} else {
		l->etag = r->text->etag;
		reply_listing(l->req, l);
	}
}

/* --- the form --------------------------------------------------------------------------------- */

/* True if the rules of a location may admit the client; passwords are checked later. */
static bool lets_in(const struct h2d_req *req, const struct location *location)
{
	return !(location->refused_methods & 1u << H2D_POST) &&
	       (location->access == NULL || access_allows(location->access, req_client(req)));
}

/* The check that store_gate.c will make. */
static bool may_write(const struct h2d_req *req, struct slice own, struct slice asked)
{
	const struct location *a = site_location(req->site, own),
			      *b = site_location(req->site, asked);

	return (a->writers || b->writers) && lets_in(req, a) && lets_in(req, b);
}

/* Segments of a path that begins and ends with "/". */
static unsigned segments(struct slice path)
{
	unsigned n = 0;

	for (size_t i = 1; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* The URL of path, a directory of uploads or below one, as it is listed in the server's own tree by
 * its own name: "/files", and below it "/files/a/". n 0: it is none, or memory is out. */
static struct slice public_path(struct h2d_req *req, struct slice path)
{
	const struct site_upload *u = site_upload_of(req->site, path);
	struct slice below;

	if (u == NULL || req->location->root != req->site->root)
		return (struct slice){ 0 };
	below = slice_of(path.p + u->dir.n, path.n - u->dir.n);
	if (below.n == 1)
		return u->form;
	return segments(below) <= req->site->upload_depth ? arena_join(&req->arena, u->url, below)
							  : (struct slice){ 0 };
}

/*
 * The action of the form in a listing of path, relative to it, in req's arena. "": no form: path is
 * not the directory of uploads, no client may write there, or not this address; or memory is out.
 */
static const char *form_action(struct h2d_req *req, struct slice path)
{
	static const struct slice up = SLICE_LIT("../");
	unsigned n = segments(path);
	struct slice to = public_path(req, path);
	char *text, *at;

	if (to.n == 0 || !may_write(req, path, to))
		return "";
	to = path_encode(to, &req->arena);
	text = at = arena_alloc(&req->arena, n * up.n + to.n);
	if (to.p == NULL || text == NULL)
		return "";
	while (n-- > 0)
		at = (char *)memcpy(at, up.p, up.n) + up.n;
	/* Without its first slash, in place of which is the NUL. */
	memcpy(at, to.p + 1, to.n - 1);
	at[to.n - 1] = '\0';
	return text;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* False where a file of the directory might have rules of its own. */
static bool may_show_readme(const struct h2d_req *req, struct slice path)
{
	const struct site *site = req->site;

	for (unsigned i = 0; site->guarded && i < site->nlocations; i++)
		if (slice_starts(site->locations[i].prefix, path) &&
			site->locations[i].prefix.n > path.n)
			return false;
	return true;
}

/* In req's arena. */
static struct listing *create_listing(struct h2d_req *req, struct listings *all,
	const struct doc_root *tree, struct slice path, unsigned links)
{
	bool json = accept_weight(req->fields, req->nfields, SLICE("application/json")) >
		    accept_weight(req->fields, req->nfields, SLICE("text/html"));
	struct listing *l = arena_zalloc(&req->arena, sizeof(*l));
	struct slice own = arena_dup(&req->arena, path);
	char *query = arena_printf(&req->arena, "%.*s", SLICE_ARG(req->query));
	/* A client that accepts none of them gets the page without a coding. */
	enum coding coding =
		coding_choose(req->fields, req->nfields, site_codings(req->location, all->codings));

	if (l == NULL || own.p == NULL || query == NULL)
		return NULL;
	l->all = all;
	l->req = req;
	list_init(&l->reader.node);
	l->reader.conn = req->conn;
	l->reader.got = got;
	l->reader.let_go = let_go;
	l->reader.key = (struct listing_key){
		.tree = tree,
		.path = own.p,
		.action = json ? "" : form_action(req, path),
		.spelled = site_spelling_matters(req->site, path),
		.links = links,
		.location = req->location,
		.open = "",
		.view = listing_page_view(query, req->query.n),
		.json = json,
		.readme = may_show_readme(req, path),
		.coding = coding != CODING_NONE ? coding : CODING_IDENTITY,
	};
	return l;
}

void listing_reply(struct h2d_req *req, struct listings *all, const struct doc_root *tree,
	struct slice path, unsigned links)
{
	struct body *b = &req->reply.body;
	struct listing *l = create_listing(req, all, tree, path, links);
	int rc;

	H2D_ASSERT(path.n > 0 && path.p[0] == '/' && path.p[path.n - 1] == '/');
	body_close(b);
	if (l == NULL) {
		reply_conditional_error(req, ERR_NO_MEMORY->status);
		return;
	}
	*b = (struct body){ .ops = &listing_ops, .req = req, .src = l };
	rc = listing_text_ask(all, &l->reader);
	if (rc < 0)
		listing_refuse(req, "listing", l->reader.key.path, rc);
}
