/*
 * listing_text: see listing.h. All but make_text() and what it calls runs on the loop; a thread
 * touches the text that its job is for, and of that only what no reader looks at before the job is
 * done.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "files/listing.h"
#include "http/compress.h"

enum { CODED_MORE = 4096 }; /* bytes that a coding may add to a page of a few */

static struct listing_reader *reader_of(struct list *node)
{
	return LIST_ENTRY(node, struct listing_reader, node);
}

void listings_init(struct listings *all, struct offload *o, unsigned codings)
{
	all->offload = o;
	all->codings = codings;
	list_init(&all->wanted);
	list_init(&all->pages);
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

/* In the coding that was chosen, however little that wins: its head says so. 0, or -errno. */
static int encode(struct strbuf *t, enum coding coding)
{
	struct strbuf coded = { .cap = t->n + CODED_MORE };
	ssize_t n = -ENOMEM;

	coded.p = malloc(coded.cap);
	if (coded.p != NULL)
		n = compress_whole(coding, COMPRESS_SOON, t->p, t->n, coded.p, coded.cap);
	if (n <= 0) {
		free(coded.p);
		return n < 0 ? (int)n : -ENOMEM;
	}
	strbuf_fini(t);
	*t = coded;
	t->n = (size_t)n;
	return 0;
}

static void write_page(struct listing_text *t)
{
	listing_page_sort(&t->page);
	if (t->key.json)
		listing_page_json(&t->page, &t->text);
	else
		listing_page_html(&t->page, &t->text);
	t->result = t->text.failed ? -ENOMEM : 0;
	if (t->result == 0 && t->key.coding != CODING_IDENTITY)
		t->result = encode(&t->text, t->key.coding);
	if (t->result == 0)
		t->result = tag(&t->text, &t->etag);
	fit(&t->text);
}

static void make_text(struct job *j)
{
	struct listing_text *t = LIST_ENTRY(j, struct listing_reader, job)->wanted;
	struct job *none = NULL;

	if (!__atomic_compare_exchange_n(
		    &t->maker, &none, j, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	t->result = listing_read(&t->key, LISTING_ENTRIES_MAX, j, &t->page);
	if (t->result == 0)
		write_page(t);
	listing_unread(&t->page);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Gives the page's memory back. */
static void drop_page(struct listing_text *t)
{
	if (list_linked(&t->node)) {
		list_remove(&t->node);
		COUNT(listing_bytes, -(int64_t)t->text.cap);
	}
	strbuf_fini(&t->text);
}

static void release_text(struct ref *ref)
{
	struct listing_text *t = LIST_ENTRY(ref, struct listing_text, ref);

	strbuf_fini(&t->text);
	free(t);
}

static void put_text(struct listing_text **tp)
{
	struct listing_text *t = *tp;

	*tp = NULL;
	if (t != NULL)
		ref_put(&t->ref);
}

/* r sends it no more; without readers it is nobody's. */
static void detach(struct listing_reader *r)
{
	list_remove(&r->node);
	if (list_empty(&r->text->readers) && list_empty(&r->text->waiting))
		drop_page(r->text);
	put_text(&r->text);
}

/* Bytes that t takes of the share of conn, or of everybody's (NULL). */
static size_t weight(const struct listing_text *t, const struct http_conn *conn)
{
	if (conn == NULL)
		return t->text.cap;
	LIST_FOREACH(node, &t->readers)
		if (reader_of(node)->conn == conn)
			return t->text.cap;
	return 0;
}

/* Until all pages, of conn or (NULL) of everybody, are bytes at most: who was last sent first. */
static void make_room(struct listings *all, const struct http_conn *conn, size_t bytes)
{
	size_t have = 0;

	LIST_FOREACH(node, &all->pages)
		have += weight(LIST_ENTRY(node, struct listing_text, node), conn);
	LIST_FOREACH(node, &all->pages) {
		struct listing_text *t = LIST_ENTRY(node, struct listing_text, node);
		size_t before = weight(t, conn);

		if (have <= bytes)
			return;
		ref_get(&t->ref);
		LIST_FOREACH(at, &t->readers) {
			struct listing_reader *r = reader_of(at);

			if ((conn == NULL || r->conn == conn) && r->let_go(r))
				detach(r);
		}
		have -= before - weight(t, conn);
		ref_put(&t->ref);
	}
}

static size_t beside(size_t share, const struct listing_text *t)
{
	return t->text.cap < share ? share - t->text.cap : 0;
}

/* --- made ------------------------------------------------------------------------------------- */

static void deliver(struct listing_reader *r, struct listing_text *t)
{
	r->waits = false;
	if (r->busy && offload_withdraw(t->all->offload, &r->job))
		r->busy = false;
	if (!r->busy)
		put_text(&r->wanted);
	if (t->result == 0) {
		/* A text that its connection sends already is counted already, and must stay. */
		if (r->conn != NULL && weight(t, r->conn) == 0)
			make_room(t->all, r->conn, beside(LISTING_SHARE, t));
		ref_get(&t->ref);
		r->text = t;
		list_append(&t->readers, &r->node);
	}
	r->got(r, t->result);
}

/* All readers that wait get it now; a reader that got it may have left when this returns. */
static void made(struct listing_text *t)
{
	struct list *node;

	if (list_empty(&t->waiting))
		return;
	list_remove(&t->node);
	if (t->result == 0) {
		make_room(t->all, NULL, beside(LISTING_MEMORY, t));
		list_append(&t->all->pages, &t->node);
		COUNT(listing_bytes, (int64_t)t->text.cap);
	}
	while ((node = list_pop(&t->waiting)) != NULL)
		deliver(reader_of(node), t);
}

/* A thread had a job that was nothing: another had made the text. */
static void ask_again(struct listing_reader *r)
{
	struct listings *all = r->wanted->all;
	int rc;

	put_text(&r->wanted);
	if (!r->again || r->gone)
		return;
	rc = listing_text_ask(all, r);
	if (rc < 0)
		r->got(r, rc);
}

static void text_done(struct job *j)
{
	struct listing_reader *r = LIST_ENTRY(j, struct listing_reader, job);
	struct listing_text *t = r->wanted;
	bool gone = r->gone;

	r->busy = false;
	if (t->maker == j) {
		/* Unless it was gone before, r may be when this is over. */
		ref_get(&t->ref);
		made(t);
		ref_put(&t->ref);
	} else if (!r->waits) {
		ask_again(r);
	}
	if (gone) {
		put_text(&r->wanted);
		r->over(r);
	}
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool same_key(const struct listing_key *a, const struct listing_key *b)
{
	return strcmp(a->root, b->root) == 0 && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->action, b->action) == 0 && a->location == b->location &&
	       a->order.sort == b->order.sort && a->order.descending == b->order.descending &&
	       a->json == b->json && a->readme == b->readme && a->spelled == b->spelled &&
	       a->follows == b->follows && a->coding == b->coding;
}

/* A text that no thread has begun: what it will say is of later than now. */
static struct listing_text *find_text(struct listings *all, const struct listing_key *key)
{
	LIST_FOREACH(node, &all->wanted) {
		struct listing_text *t = LIST_ENTRY(node, struct listing_text, node);

		if (__atomic_load_n(&t->maker, __ATOMIC_SEQ_CST) == NULL &&
			same_key(&t->key, key)) {
			ref_get(&t->ref);
			return t;
		}
	}
	return NULL;
}

static struct listing_text *create_text(struct listings *all, const struct listing_key *key)
{
	size_t npath = strlen(key->path) + 1, nroot = strlen(key->root) + 1;
	size_t naction = strlen(key->action) + 1;
	struct listing_text *t = calloc(1, sizeof(*t) + npath + nroot + naction);

	if (t == NULL)
		return NULL;
	ref_init(&t->ref, release_text);
	t->all = all;
	list_init(&t->waiting);
	list_init(&t->readers);
	t->key = *key;
	t->key.path = memcpy(t->path, key->path, npath);
	t->key.root = memcpy(t->path + npath, key->root, nroot);
	t->key.action = memcpy(t->path + npath + nroot, key->action, naction);
	t->page.path = slice_of(t->path, npath - 1);
	t->page.action = slice_of(t->key.action, naction - 1);
	t->page.order = key->order;
	list_append(&all->wanted, &t->node);
	return t;
}

/* Nobody waits for t: it takes no more readers, and a thread that is at it ends. */
static void abandon(struct listing_text *t, struct listing_reader *last)
{
	struct job *maker = __atomic_load_n(&t->maker, __ATOMIC_SEQ_CST);

	list_remove(&t->node);
	if (maker == NULL && last->busy)
		maker = &last->job;
	if (maker != NULL)
		offload_cancel(t->all->offload, maker);
}

/* r waits no longer. */
static void stop_waiting(struct listing_reader *r)
{
	struct listing_text *t = r->wanted;

	r->waits = false;
	list_remove(&r->node);
	if (r->busy && offload_withdraw(t->all->offload, &r->job))
		r->busy = false;
	if (list_empty(&t->waiting))
		abandon(t, r);
}

int listing_text_ask(struct listings *all, struct listing_reader *r)
{
	int rc;

	/* A thread has its last job, and finds out that there is nothing to do. */
	r->again = r->busy;
	if (r->busy)
		return 0;
	r->wanted = find_text(all, &r->key);
	if (r->wanted == NULL)
		r->wanted = create_text(all, &r->key);
	if (r->wanted == NULL)
		return -ENOMEM;
	r->job.work = make_text;
	r->job.done = text_done;
	r->job.class = JOB_LISTING;
	r->job.owner = r->conn;
	r->job.volume = r->key.root;
	list_append(&r->wanted->waiting, &r->node);
	r->waits = true;
	rc = offload_submit(all->offload, &r->job);
	r->busy = rc == 0;
	if (rc < 0) {
		stop_waiting(r);
		put_text(&r->wanted);
	}
	return rc;
}

void listing_text_sent(struct listing_reader *r)
{
	if (r->text == NULL)
		return;
	list_remove(&r->text->node);
	list_append(&r->text->all->pages, &r->text->node);
}

bool listing_text_leave(struct listing_reader *r)
{
	if (r->text != NULL)
		detach(r);
	if (r->waits)
		stop_waiting(r);
	r->gone = true;
	if (!r->busy)
		put_text(&r->wanted);
	return !r->busy;
}
