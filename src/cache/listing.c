/*
 * listing: see listing.h. One job per answer: the thread reads, sorts and writes the page, the loop
 * replies with it. The page lives until the last connection that sends of it lets go.
 */
#include "cache/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "cache/etag.h"
#include "http/accept.h"
#include "http/cond.h"

struct listing {
	struct ref ref;
	struct job job;
	struct h2d_req *req;     /* NULL: it went away */
	bool json;
	struct listing_page page;
	struct text text;
	struct etag etag;
	int result;
	size_t counted;          /* of listing_bytes */
	const char *root;
	char path[];             /* NUL-terminated, and the root behind it */
};

static void release(struct ref *ref)
{
	struct listing *l = LIST_ENTRY(ref, struct listing, ref);

	COUNT(listing_bytes, -(int64_t)l->counted);
	text_fini(&l->text);
	free(l);
}

/* --- in a thread --------------------------------------------------------------------------------- */

static int tag(const struct text *t, struct etag *etag)
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

static void work(struct job *j)
{
	struct listing *l = LIST_ENTRY(j, struct listing, job);
	struct listing_page *page = &l->page;

	l->result = listing_read(l->root, l->path, LISTING_ENTRIES_MAX, page);
	if (l->result == 0) {
		listing_page_sort(page);
		if (l->json)
			listing_page_json(page, &l->text);
		else
			listing_page_html(page, &l->text);
		l->result = l->text.failed ? -ENOMEM : tag(&l->text, &l->etag);
	}
	listing_unread(page);
}

/* --- on the loop --------------------------------------------------------------------------------- */

static void fail(struct h2d_req *req, int status)
{
	body_close(&req->reply.body);
	req_error(req, status);
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
		log_info("listing %s: %s", path, strerror(-rc));
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

	rc |= reply_add(req, SLICE("vary"), SLICE("accept"));
	if (rc == 0 && status == 412) {
		fail(req, status);
		return;
	}
	if (status == 200)
		rc |= reply_add(req, SLICE("content-type"),
			l->json ? SLICE("application/json") : SLICE("text/html; charset=utf-8"));
	rc |= reply_add(req, SLICE("etag"), etag_slice(&l->etag));
	if (req->place->cache_control.n == 0)
		rc |= reply_add(req, SLICE("cache-control"), SLICE("no-cache"));
	if (l->page.cut)
		rc |= reply_add(req, SLICE("x-listing"), SLICE("incomplete"));
	if (rc < 0) {
		req->reply.nfields = nfields;
		fail(req, ERR_NO_MEMORY->status);
		return;
	}
	body_memory(&req->reply.body, l->text.p, l->text.n, &l->ref);
	reply_send(req, status);
}

static void done(struct job *j)
{
	struct listing *l = LIST_ENTRY(j, struct listing, job);
	struct h2d_req *req = l->req;

	if (req != NULL) {
		if (l->result == 0 && counters->listing_bytes > LISTING_MEMORY - (int64_t)l->text.cap)
			l->result = -ENOMEM;
		if (l->result == 0) {
			l->counted = l->text.cap;
			COUNT(listing_bytes, (int64_t)l->counted);
		}
		/* What waited is over; l stays, by the reference of the job. */
		body_close(&req->reply.body);
		if (l->result == 0)
			reply(req, l);
		else
			reply_failed(req, l->path, l->result);
	}
	ref_put(&l->ref);
}

/* A request that goes away before the reply closes this. */
static void waiting_close(struct body *b)
{
	struct listing *l = b->src;

	l->req = NULL;
	ref_put(&l->ref);
}

static const struct body_ops waiting_ops = {
	.name = "listing",
	.close = waiting_close,
};

static struct listing *create(struct h2d_req *req, const char *root, struct slice path)
{
	size_t nroot = strlen(root) + 1;
	struct listing *l = calloc(1, sizeof(*l) + path.n + 1 + nroot);

	if (l == NULL)
		return NULL;
	ref_init(&l->ref, release);
	l->job.work = work;
	l->job.done = done;
	l->req = req;
	memcpy(l->path, path.p, path.n);
	l->root = memcpy(l->path + path.n + 1, root, nroot);
	l->page.path = slice_of(l->path, path.n);
	l->page.order = listing_page_order(req->query);
	l->json = accept_weight(req->fields, req->nfields, SLICE("application/json")) >
		  accept_weight(req->fields, req->nfields, SLICE("text/html"));
	return l;
}

void listing_reply(struct h2d_req *req, struct offload *o, const char *root, struct slice path)
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
	rc = offload_submit(o, &l->job);
	if (rc < 0) {
		reply_failed(req, l->path, rc);
		ref_put(&l->ref);
		return;
	}
	/* From here on all but req is the thread's. */
	/* One reference for the job, one for what waits. */
	ref_get(&l->ref);
	*b = (struct body){ .ops = &waiting_ops, .req = req, .src = l };
}
