/*
 * listing_text: see listing.h. All but make_text() runs on the loop; a thread touches only its
 * job's text, and of that only members that no reader uses before the job is done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "files/listing.h"

void listings_init(struct listings *all, struct offload *o, unsigned codings)
{
	all->offload = o;
	all->codings = codings;
	list_init(&all->wanted);
	list_init(&all->pages);
}

static void free_text(struct listing_text *t)
{
	strbuf_fini(&t->bytes);
	archive_list_fini(&t->list);
	free(t);
}

/* Abandons t without readers: it takes no more of them, and its thread ends. */
static void drop_if_unread(struct listing_text *t)
{
	if (t->held || !list_empty(&t->readers))
		return;
	if (t->made)
		COUNT(listing_bytes, -(int64_t)t->room);
	list_remove(&t->node);
	if (!t->busy || offload_cancel(t->all->offload, &t->job))
		free_text(t);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Bytes of t in the share of conn, or in the total (NULL). */
static size_t weight(const struct listing_text *t, const struct http_conn *conn)
{
	if (conn == NULL)
		return t->room;
	LIST_EACH(struct listing_reader, r, node, &t->readers)
		if (r->conn == conn)
			return t->room;
	return 0;
}

static void let_go(struct listing_text *t, const struct http_conn *conn)
{
	t->held = true;
	LIST_EACH(struct listing_reader, r, node, &t->readers)
		if ((conn == NULL || r->conn == conn) && r->let_go(r))
			listing_text_leave(r);
	t->held = false;
}

/* Frees pages of conn or (NULL) of all, least recently sent first, until t has that room. */
static void make_room(const struct listing_text *t, const struct http_conn *conn, size_t share)
{
	size_t have = t->room;

	LIST_EACH(const struct listing_text, other, node, &t->all->pages)
		have += weight(other, conn);
	LIST_EACH(struct listing_text, other, node, &t->all->pages) {
		size_t before = weight(other, conn);

		if (have <= share)
			return;
		if (before == 0)
			continue;
		let_go(other, conn);
		have -= before - weight(other, conn);
		drop_if_unread(other);
	}
}

/* --- made ------------------------------------------------------------------------------------- */

static void make_text(struct job *j)
{
	struct listing_text *t = LIST_ENTRY(j, struct listing_text, job);

	__atomic_store_n(&t->begun, true, __ATOMIC_SEQ_CST);
	t->result = t->key.archive == ARCHIVE_NONE
			    ? listing_make(t)
			    : archive_list_make(&t->key, j, &t->list, &t->etag);
	t->room = t->bytes.cap + archive_list_room(&t->list);
}

static void deliver(struct listing_reader *r, struct listing_text *t)
{
	if (t->result == 0) {
		/* A text that its connection sends already is counted, and must stay. */
		if (r->conn != NULL && weight(t, r->conn) == 0)
			make_room(t, r->conn, LISTING_SHARE);
		list_append(&t->readers, &r->node);
	} else {
		r->text = NULL;
	}
	r->got(r, t->result);
}

/* Gives it to all readers; one of them may have left on return. */
static void text_made(struct job *j)
{
	struct listing_text *t = LIST_ENTRY(j, struct listing_text, job);
	struct list waiting;

	t->busy = false;
	if (list_empty(&t->readers)) {
		free_text(t);
		return;
	}
	list_remove(&t->node);
	t->held = true;
	t->made = t->result == 0;
	if (t->made) {
		make_room(t, NULL, LISTING_MEMORY);
		list_append(&t->all->pages, &t->node);
		COUNT(listing_bytes, (int64_t)t->room);
	}
	list_init(&waiting);
	list_splice(&waiting, &t->readers);
	LIST_TAKE(struct listing_reader, r, node, &waiting)
		deliver(r, t);
	t->held = false;
	drop_if_unread(t);
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool same_key(const struct listing_key *a, const struct listing_key *b)
{
	return a->tree == b->tree && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->action, b->action) == 0 && a->location == b->location &&
	       a->view.sort == b->view.sort && a->view.descending == b->view.descending &&
	       a->view.page == b->view.page && strcmp(a->view.find, b->view.find) == 0 &&
	       a->json == b->json && a->readme == b->readme && a->spelled == b->spelled &&
	       a->links == b->links && a->coding == b->coding && a->archive == b->archive &&
	       a->site == b->site && strcmp(a->open, b->open) == 0;
}

/* True if t is the first of its connection in line, so that its turn is the earliest. */
static bool is_next(const struct listing_text *t)
{
	LIST_EACH(const struct listing_text, other, node, &t->all->wanted)
		if (other->job.owner == t->job.owner)
			return other == t;
	return false;
}

/* A text that no thread has begun: its content will be later than now. */
static struct listing_text *find_text(struct listings *all, const struct listing_reader *r)
{
	LIST_EACH(struct listing_text, t, node, &all->wanted)
		if (!__atomic_load_n(&t->begun, __ATOMIC_SEQ_CST) && same_key(&t->key, &r->key) &&
			(t->job.owner == r->conn || is_next(t)))
			return t;
	return NULL;
}

static struct listing_text *create_text(struct listings *all, const struct listing_reader *r)
{
	const struct listing_key *key = &r->key;
	size_t npath = strlen(key->path) + 1, naction = strlen(key->action) + 1;
	size_t nopen = strlen(key->open) + 1, nfind = strlen(key->view.find) + 1;
	struct listing_text *t = calloc(1, sizeof(*t) + npath + naction + nopen + nfind);

	if (t == NULL)
		return NULL;
	t->all = all;
	list_init(&t->readers);
	t->key = *key;
	t->key.path = memcpy(t->path, key->path, npath);
	t->key.action = memcpy(t->path + npath, key->action, naction);
	t->key.open = memcpy(t->path + npath + naction, key->open, nopen);
	t->key.view.find = memcpy(t->path + npath + naction + nopen, key->view.find, nfind);
	t->job = (struct job){ .work = make_text,
		.done = text_made,
		.class = JOB_LISTING,
		.owner = r->conn,
		.volume = key->tree->root };
	list_append(&all->wanted, &t->node);
	return t;
}

int listing_text_ask(struct listings *all, struct listing_reader *r)
{
	struct listing_text *t = find_text(all, r);
	int rc = 0;

	if (t == NULL)
		t = create_text(all, r);
	if (t == NULL)
		return -ENOMEM;
	if (!t->busy)
		rc = offload_submit(all->offload, &t->job);
	t->busy = rc == 0;
	if (rc < 0) {
		drop_if_unread(t);
		return rc;
	}
	r->text = t;
	list_append(&t->readers, &r->node);
	return 0;
}

void listing_text_sent(struct listing_reader *r)
{
	if (r->text == NULL)
		return;
	list_remove(&r->text->node);
	list_append(&r->text->all->pages, &r->text->node);
}

void listing_text_leave(struct listing_reader *r)
{
	struct listing_text *t = r->text;

	if (t == NULL)
		return;
	r->text = NULL;
	list_remove(&r->node);
	drop_if_unread(t);
}
