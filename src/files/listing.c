/*
 * listing: see listing.h. One job per answer: the thread reads, sorts and writes the page, the loop
 * replies with it. The page is the source's own and copied as it is sent; so it can be taken from a
 * stream that stands still, which has it made again once it goes on.
 */
#include "files/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "http/accept.h"
#include "http/cond.h"
#include "image/etag.h"

struct listing {
	struct list node; /* on listings->pages, last sent last, while text is there */
	struct listings *all;
	struct job job;
	bool busy; /* a thread has it */
	struct offload *offload;
	struct h2d_req *req; /* NULL: it went away */
	const struct http_conn *conn;
	bool json;
	bool replied; /* the head is on its way: from now on the same text, or none */
	bool failed;
	struct listing_page page;
	struct strbuf text;
	size_t at;              /* bytes of the text that are emitted */
	size_t promised;        /* bytes that ready() answered last, not emitted yet */
	char *kept;             /* those, while the text is not there */
	struct etag etag, made; /* … of what was replied with, of what the thread made */
	int result;
	const char *root;
	char path[]; /* NUL-terminated, and the root behind it */
};

/* Gives the page's memory back. */
static void drop_text(struct listing *l)
{
	if (list_linked(&l->node)) {
		list_remove(&l->node);
		COUNT(listing_bytes, -(int64_t)l->text.cap);
	}
	strbuf_fini(&l->text);
}

static void free_listing(struct listing *l)
{
	drop_text(l);
	free(l->kept);
	free(l);
}

/* --- in a thread ------------------------------------------------------------------------------ */

static int tag(const struct strbuf *t, struct etag *etag)
{
	struct etag_hash *h = etag_hash_new();
	int rc = h == NULL ? -ENOMEM : etag_hash_begin(h);

	if (rc == 0)
		rc = etag_hash_add(h, t->p, t->n);
	if (rc == 0)
		rc = etag_hash_end(h, etag);
	etag_hash_free(&h);
	return rc;
}

/* It grew by doubling, and may be held for long. */
static void fit(struct strbuf *t)
{
	char *p = realloc(t->p, t->n);

	if (p == NULL)
		return;
	t->p = p;
	t->cap = t->n;
}

static void work(struct job *j)
{
	struct listing *l = LIST_ENTRY(j, struct listing, job);
	struct listing_page *page = &l->page;

	page->cut = false;
	l->result = listing_read(l->root, l->path, LISTING_ENTRIES_MAX, j, page);
	if (l->result == 0) {
		listing_page_sort(page);
		if (l->json)
			listing_page_json(page, &l->text);
		else
			listing_page_html(page, &l->text);
		l->result = l->text.failed ? -ENOMEM : tag(&l->text, &l->made);
		fit(&l->text);
	}
	listing_unread(page);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Takes its text from a stream; what the stream was told is ready stays. False: it cannot. */
static bool take_back(struct listing *l)
{
	if (l->promised > 0) {
		l->kept = malloc(l->promised);
		if (l->kept == NULL)
			return false;
		memcpy(l->kept, l->text.p + l->at, l->promised);
	}
	drop_text(l);
	return true;
}

/* Until all pages, of conn or (NULL) of everybody, are bytes at most: who was last sent first. */
static void make_room(struct listings *all, const struct http_conn *conn, size_t bytes)
{
	size_t have = 0;

	LIST_FOREACH(node, &all->pages) {
		const struct listing *l = LIST_ENTRY(node, struct listing, node);

		have += conn == NULL || l->conn == conn ? l->text.cap : 0;
	}
	LIST_FOREACH(node, &all->pages) {
		struct listing *l = LIST_ENTRY(node, struct listing, node);
		size_t its = l->text.cap;

		if (have <= bytes)
			return;
		if ((conn == NULL || l->conn == conn) && take_back(l))
			have -= its;
	}
}

/* A page is there: it counts, and others make room for it. */
static void hold(struct listing *l)
{
	size_t n = l->text.cap;

	make_room(l->all, l->conn, n < LISTING_SHARE ? LISTING_SHARE - n : 0);
	make_room(l->all, NULL, n < LISTING_MEMORY ? LISTING_MEMORY - n : 0);
	list_append(&l->all->pages, &l->node);
	COUNT(listing_bytes, (int64_t)n);
}

/* --- the source ------------------------------------------------------------------------------- */

static void done(struct job *j);

static int submit(struct listing *l)
{
	int rc = offload_submit(l->offload, &l->job);

	l->busy = rc == 0;
	return rc;
}

static ssize_t listing_ready(struct body *b, size_t want)
{
	struct listing *l = b->src;

	if (l->failed)
		return BODY_FAILED;
	if (l->kept != NULL)
		return (ssize_t)(l->promised < want ? l->promised : want);
	if (l->text.p == NULL)
		return l->busy || submit(l) == 0 ? BODY_LATER : BODY_FAILED;
	l->promised = b->left < want ? b->left : want;
	return (ssize_t)l->promised;
}

/* Copied: a connection that stands still must not hold the page. */
static int listing_emit(struct body *b, size_t n, struct outq *q)
{
	struct listing *l = b->src;
	const char *p = l->kept != NULL ? l->kept : l->text.p + l->at;
	int rc = outq_copy(q, p, n);

	l->at += n;
	b->left -= n;
	l->promised = 0;
	free(l->kept);
	l->kept = NULL;
	if (list_linked(&l->node)) {
		list_remove(&l->node);
		list_append(&l->all->pages, &l->node);
	}
	return rc;
}

/* At its end, or the request went away. */
static void listing_close(struct body *b)
{
	struct listing *l = b->src;

	l->req = NULL;
	if (l->busy && offload_cancel(l->offload, &l->job))
		l->busy = false;
	if (!l->busy)
		free_listing(l);
}

static const struct body_ops listing_ops = {
	.name = "listing",
	.ready = listing_ready,
	.emit = listing_emit,
	.close = listing_close,
};

/* --- the reply -------------------------------------------------------------------------------- */

/* The listing ends with its body. */
static void fail(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	reply_error(req, status);
}

static void reply_failed(struct h2d_req *req, const char *path, int rc)
{
	static uint64_t logged_ms;

	switch (-rc) {
	case ENOENT:
	case ENOTDIR:
	case EXDEV:
	case ELOOP:
	case ENAMETOOLONG:
		fail(req, 404);
		return;
	case EACCES:
	case EPERM:
		log_peer(LEVEL_INFO, "listing %s: %s", path, strerror(-rc));
		fail(req, 403);
		return;
	default:
		/* The machine is short of something: said once a second. */
		if (clock_ms() - logged_ms >= 1000) {
			logged_ms = clock_ms();
			log_error("listing %s: %s", path, strerror(-rc));
		}
		fail(req, ERR_NO_MEMORY->status);
	}
}

/* 200, 304 or 412. There is no date that tells every change: conditions on dates are ignored. */
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

static void reply(struct h2d_req *req, struct listing *l)
{
	int status = status_of(req, l), rc = 0;
	unsigned nfields = req->reply.nfields;

	rc |= reply_vary(req, SLICE("accept"));
	if (rc == 0 && status == 412) {
		fail(req, status);
		return;
	}
	if (status == 200)
		rc |= reply_add(req, SLICE("content-type"),
			l->json ? SLICE("application/json") : SLICE("text/html; charset=utf-8"));
	rc |= reply_add(req, SLICE("etag"), etag_slice(&l->etag));
	if (req->location->cache_control.n == 0)
		rc |= reply_add(req, SLICE("cache-control"), SLICE("no-cache"));
	if (l->page.cut)
		rc |= reply_add(req, SLICE("x-listing"), SLICE("incomplete"));
	if (rc < 0) {
		req->reply.nfields = nfields;
		fail(req, ERR_NO_MEMORY->status);
		return;
	}
	req->reply.body.left = l->text.n;
	l->replied = true;
	reply_send(req, status);
}

/* The text that was given back is there again, if it is the same. */
static void made_again(struct listing *l)
{
	if (l->result != 0 || !slice_eq(etag_slice(&l->etag), etag_slice(&l->made))) {
		l->failed = true;
		drop_text(l);
	} else {
		hold(l);
	}
	req_resume(l->req);
}

static void done(struct job *j)
{
	struct listing *l = LIST_ENTRY(j, struct listing, job);

	l->busy = false;
	if (l->req == NULL) {
		free_listing(l);
	} else if (l->replied) {
		made_again(l);
	} else if (l->result != 0) {
		reply_failed(l->req, l->path, l->result);
	} else {
		l->etag = l->made;
		hold(l);
		reply(l->req, l);
	}
}

static struct listing *create(struct h2d_req *req, const char *root, struct slice path)
{
	size_t nroot = strlen(root) + 1;
	struct listing *l = calloc(1, sizeof(*l) + path.n + 1 + nroot);

	if (l == NULL)
		return NULL;
	list_init(&l->node);
	l->job.work = work;
	l->job.done = done;
	l->job.class = JOB_LISTING;
	l->job.owner = req->conn;
	l->req = req;
	l->conn = req->conn;
	memcpy(l->path, path.p, path.n);
	l->root = memcpy(l->path + path.n + 1, root, nroot);
	l->page.path = slice_of(l->path, path.n);
	l->page.order = listing_page_order(req->query);
	l->json = accept_weight(req->fields, req->nfields, SLICE("application/json")) >
		  accept_weight(req->fields, req->nfields, SLICE("text/html"));
	return l;
}

void listing_reply(struct h2d_req *req, struct listings *all, struct offload *o, const char *root,
	struct slice path)
{
	struct body *b = &req->reply.body;
	struct listing *l = create(req, root, path);
	int rc;

	H2D_ASSERT(path.n > 0 && path.p[0] == '/' && path.p[path.n - 1] == '/');
	body_close(b);
	if (l == NULL) {
		fail(req, ERR_NO_MEMORY->status);
		return;
	}
	l->all = all;
	l->offload = o;
	*b = (struct body){ .ops = &listing_ops, .req = req, .src = l };
	rc = submit(l);
	if (rc < 0)
		reply_failed(req, l->path, rc);
}
