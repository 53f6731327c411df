/*
 * archive: the response with a directory and all it contains: a source that makes heads of members,
 * and reads one file after the other by disk.h. It keeps no part of the list, which may be taken
 * from it between two pieces. Called by reply_file.c, on the loop; never blocks.
 */
#include "files/archive.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "files/files.h"
#include "files/reply_conditional.h"
#include "files/reply_file.h"
#include "http/cond.h"
#include "request/req_client.h"
#include "request/trace.h"

const struct states archive_states = {
	.of = "archive",
	.rows = {
#define ARCHIVE_STATE(name, next, help) { #name, next },
#include "files/archive_state.def"
	},
};

enum { TEXT_LEAST = 4096, BUSY_MS = 1000, OPENED_A_TURN = 2 };

struct archive {
	struct listing_reader reader;
	struct files *files;
	struct h2d_req *req;
	struct account *account; /* of the budget; NULL: none */
	const struct archive_format *format;
	struct slice top;
	enum archive_state state;
	struct etag etag; /* n 0: no reply yet */

	/* The next part. Up to the list's number, n is of a member; from there on, of an entry in
	 * the index; at last, of the end. */
	unsigned n;
	uint64_t off;  /* bytes of the member that are done */
	uint64_t head; /* bytes of its head */
	uint64_t seek; /* UINT64_MAX: none; else the offset that decides n and off */

	struct strbuf text;
	size_t at;           /* bytes of text that are sent */
	struct body file;    /* of the member */
	struct file_id seen; /* of the file, by the list */
	uint64_t want;       /* bytes of it to send */
	uint64_t left;       /* bytes of the range, when they were last asked for */
	uint64_t turn;       /* of the loop, when the last file was opened */
	unsigned nopened;    /* files opened in that turn */
	struct task pause;
	uint32_t *crcs; /* of members; NULL: not needed, or none yet */
};

static void archive_go(struct archive *a, enum archive_state state)
{
	STATES_STEP(&archive_states, a->state, state);
}

/* --- parts without content -------------------------------------------------------------------- */

/* Takes n bytes from the text behind from. */
static void cut(struct strbuf *t, size_t from, uint64_t n)
{
	if (n == 0 || t->failed)
		return;
	t->n -= (size_t)n;
	memmove(t->p + from, t->p + from + n, t->n - from);
}

/* Adds the next part, and moves on. False: content is next. */
static bool add_part(struct archive *a, const struct archive_list *l)
{
	char path[ARCHIVE_PATH];
	struct archive_member m;
	size_t from = a->text.n;

	if (a->n >= l->n && a->format->index == NULL)
		a->n = 2 * l->n;
	if (a->n == 2 * l->n) {
		a->format->end(&a->text,
			&(struct archive_end){ l->n, l->index_at, l->end_at, l->left_out });
		cut(&a->text, from, a->off);
		a->n++;
		return true;
	}
	m = archive_list_member(l, a->n % l->n, a->top, path);
	m.crc = a->crcs != NULL ? a->crcs[a->n % l->n] : 0;
	if (a->n >= l->n) {
		a->format->index(&a->text, &m);
		a->n++;
		return true;
	}
	a->format->head(&a->text, &m);
	a->head = a->text.n - from;
	cut(&a->text, from, a->off < a->head ? a->off : a->head);
	a->off = a->off > a->head ? a->off : a->head;
	if (a->off < a->head + m.size)
		return false;
	from = a->text.n;
	a->format->tail(&a->text, &m);
	cut(&a->text, from, a->off - a->head - m.size);
	a->n++;
	a->off = 0;
	return true;
}

/* Finds the part at a->seek. */
static void find(struct archive *a, const struct archive_list *l)
{
	bool end = a->seek >= l->index_at;

	a->n = end ? 2 * l->n : archive_list_find(l, a->seek);
	a->off = a->seek - (end ? l->index_at : l->v[a->n].at);
	a->seek = UINT64_MAX;
}

/* --- content ---------------------------------------------------------------------------------- */

static void opened(struct disk_file *f, int rc)
{
	struct archive *a = f->ctx;

	if (rc == 0 &&
		(f->file_id.ino != a->seen.ino || !file_id_same_content(&f->file_id, &a->seen)))
		rc = -EAGAIN;
	if (rc == 0 && f->fd < 0) {
		opened(f, disk_file_open_in_turn(f));
		return;
	}
	if (rc == DISK_LATER)
		return;
	if (rc < 0) {
		log_peer(LEVEL_INFO, "archive %s: %s: %s; cutting off the response",
			a->reader.key.path, f->path, rc == -EAGAIN ? "changed" : strerror(-rc));
		archive_go(a, ARCHIVE_FAILED);
		return;
	}
	disk_file_begin(f);
	a->file.ops->seek(&a->file, a->off - a->head, a->want);
	archive_go(a, ARCHIVE_FILE);
}

static void opened_later(struct disk_file *f, int rc)
{
	struct archive *a = f->ctx;

	opened(f, rc);
	if (a->state != ARCHIVE_OPEN)
		req_resume(a->req);
}

/* Small files cost the loop more than their bytes tell: other streams have a turn between them. */
static bool may_open(struct archive *a)
{
	struct loop *loop = a->files->loop;

	a->nopened = a->turn == loop->turns ? a->nopened + 1 : 1;
	a->turn = loop->turns;
	if (a->nopened > OPENED_A_TURN)
		loop_ready(loop, &a->pause);
	return a->nopened <= OPENED_A_TURN;
}

static void end_pause(struct task *t)
{
	req_resume(LIST_ENTRY(t, struct archive, pause)->req);
}

/* Opens the file of the member. */
static void open_file(struct archive *a, const struct archive_list *l)
{
	const struct archive_entry *e = &l->v[a->n];
	char buf[ARCHIVE_PATH];
	struct slice path = archive_list_path(l, a->n, slice_str(a->reader.key.path), buf);
	struct disk_file *f = disk_file_new(a->files->disk, a->req, a->req->location->root, path);
	uint64_t rest = a->head + e->size - a->off;

	if (f == NULL) {
		archive_go(a, ARCHIVE_FAILED);
		return;
	}
	archive_go(a, ARCHIVE_OPEN);
	a->seen = (struct file_id){ .ino = e->ino, .size = e->size, .mtime_ns = e->mtime_ns };
	a->want = rest < a->left ? rest : a->left;
	disk_file_attach(f, &a->file);
	f->ctx = a;
	f->opened = opened_later;
	f->spelled = 0; /* as the directory spells it */
	f->asks = doc_root_is_upload(a->reader.key.tree, path);
	f->links = reply_file_links(site_location(a->req->site, path), f->asks);
	opened(f, disk_file_open(f));
}

/* --- the source ------------------------------------------------------------------------------- */

/* Makes the next piece, or has a thread do so. */
static void advance(struct archive *a)
{
	const struct archive_list *l;
	bool more = true;

	if (a->reader.text == NULL) {
		archive_go(a, listing_text_ask(&a->files->listings, &a->reader) == 0
				      ? ARCHIVE_LIST
				      : ARCHIVE_FAILED);
		return;
	}
	l = &a->reader.text->list;
	if (a->format->index != NULL && a->crcs == NULL)
		a->crcs = calloc(l->n, sizeof(*a->crcs));
	if (a->seek != UINT64_MAX)
		find(a, l);
	while (more && a->text.n < TEXT_LEAST && a->n <= 2 * l->n)
		more = add_part(a, l);
	listing_text_sent(&a->reader);
	if (a->text.failed || (a->format->index != NULL && a->crcs == NULL))
		archive_go(a, ARCHIVE_FAILED);
	else if (a->text.n > 0)
		archive_go(a, ARCHIVE_TEXT);
	else if (may_open(a))
		open_file(a, l);
}

static ssize_t archive_ready(struct body *b, size_t want)
{
	struct archive *a = b->src;
	size_t n;

	a->left = b->left;
	if (a->state == ARCHIVE_NEXT)
		advance(a);
	switch (a->state) {
	case ARCHIVE_TEXT:
		n = a->text.n - a->at;
		n = n < want ? n : want;
		return (ssize_t)(n < b->left ? n : b->left);
	case ARCHIVE_FILE:
		return a->file.ops->ready(&a->file, want);
	case ARCHIVE_FAILED:
		return BODY_FAILED;
	default:
		return BODY_LATER;
	}
}

static void end_text(struct archive *a)
{
	a->text.n = a->at = 0;
	archive_go(a, ARCHIVE_NEXT);
}

static int emit_file(struct archive *a, size_t n, struct outq *q)
{
	const struct disk_file *f = a->file.src;
	int rc;

	if (a->crcs != NULL)
		a->crcs[a->n] = (uint32_t)a->format->sum(
			a->crcs[a->n], (const unsigned char *)f->buf->data + f->at, (unsigned)n);
	rc = a->file.ops->emit(&a->file, n, q);
	a->off += n;
	if (a->file.left == 0) {
		body_close(&a->file);
		archive_go(a, ARCHIVE_NEXT);
	}
	return rc;
}

static int archive_emit(struct body *b, size_t n, struct outq *q)
{
	struct archive *a = b->src;
	int rc;

	b->left -= n;
	if (a->state == ARCHIVE_FILE)
		return emit_file(a, n, q);
	rc = outq_copy(q, a->text.p + a->at, n);
	a->at += n;
	if (a->at == a->text.n)
		end_text(a);
	return rc;
}

/* The list may be away: the place is found with the next piece. */
static void archive_seek(struct body *b, uint64_t at, uint64_t n)
{
	struct archive *a = b->src;

	if (a->state == ARCHIVE_TEXT)
		end_text(a);
	a->seek = at;
	b->left = n;
}

static void archive_rest(struct body *b)
{
	struct archive *a = b->src;

	if (a->state == ARCHIVE_FILE)
		a->file.ops->rest(&a->file);
}

static void archive_close(struct body *b)
{
	struct archive *a = b->src;

	listing_text_leave(&a->reader);
	loop_cancel(&a->pause);
	body_close(&a->file);
	strbuf_fini(&a->text);
	budget_give(&a->files->archives, a->account, 1);
	free(a->crcs);
}

static const struct body_ops archive_ops = {
	.name = "archive",
	.ready = archive_ready,
	.emit = archive_emit,
	.seek = archive_seek,
	.rest = archive_rest,
	.close = archive_close,
};

/* --- the reply -------------------------------------------------------------------------------- */

/* The name of the archive, for clients of RFC 6266 and for older ones. */
static int add_name(struct h2d_req *req, const struct archive *a)
{
	struct slice name = slice_of(a->top.p, a->top.n - 1);
	struct strbuf t = { 0 };
	int rc = -1;

	strbuf_add(&t, SLICE("attachment; filename=\""));
	for (size_t i = 0; i < name.n; i++)
		strbuf_add(&t, name.p[i] < ' ' || name.p[i] > '~' || strchr("\"\\%", name.p[i])
				       ? SLICE("_")
				       : slice_of(name.p + i, 1));
	strbuf_printf(&t, ".%s\"; filename*=UTF-8''", a->format->name.p);
	strbuf_url(&t, name);
	strbuf_printf(&t, ".%s", a->format->name.p);
	if (!t.failed)
		rc = reply_add(req, SLICE("content-disposition"),
			arena_dup(&req->arena, slice_of(t.p, t.n)));
	strbuf_fini(&t);
	return rc;
}

static int add_fields(struct h2d_req *req, const struct archive *a)
{
	const struct archive_list *l = &a->reader.text->list;
	int rc = add_name(req, a);

	if (l->left_out > 0)
		rc |= reply_add(req, SLICE("archive-left-out"),
			slice_str(arena_printf(&req->arena, "%u", l->left_out)));
	/* The archive may contain files that other clients may not read. */
	if (req->site->guarded)
		return rc | reply_add(req, SLICE("cache-control"), SLICE("private, no-cache"));
	return rc | reply_cache_control(req, SLICE("no-cache"));
}

/* No date shows every change: conditions on dates are ignored. */
static void reply_archive(struct archive *a)
{
	struct h2d_req *req = a->req;
	struct reply_conditional r = {
		.type = a->format->type,
		.etag = etag_slice(&a->etag),
		.mtime = INT64_MAX,
		.coding = CODING_IDENTITY,
		.whole = a->format->index != NULL,
	};
	unsigned ignored = COND_IF_MODIFIED_SINCE | COND_IF_UNMODIFIED_SINCE |
			   (r.whole ? COND_RANGE | COND_IF_RANGE : 0);

	if (add_fields(req, a) < 0) {
		reply_conditional_no_memory(req);
		return;
	}
	req->reply.body.left = a->reader.text->list.size;
	reply_conditional(req, &r, reply_conditional_seen(req) & ~ignored);
}

/* Without the mark of a weak one: the same list may be settled by now. */
static struct slice opaque(const struct etag *e)
{
	struct slice tag = etag_slice(e);

	if (slice_starts(tag, SLICE("W/")))
		slice_skip(&tag, 2);
	return tag;
}

static void got(struct listing_reader *r, int result)
{
	struct archive *a = LIST_ENTRY(r, struct archive, reader);
	bool replied = a->etag.n > 0;

	if (!replied && result != 0) {
		listing_refuse(a->req, "archive", a->reader.key.path, result);
		return;
	}
	if (result != 0 || (replied && !slice_eq(opaque(&a->etag), opaque(&r->text->etag)))) {
		log_peer(LEVEL_INFO, "archive %s: changed; cutting off the response",
			a->reader.key.path);
		archive_go(a, ARCHIVE_FAILED);
		req_resume(a->req);
		return;
	}
	a->etag = r->text->etag;
	archive_go(a, ARCHIVE_NEXT);
	if (!replied) {
		reply_archive(a);
		return;
	}
	/* At once: others may need the memory before the stream's turn. */
	advance(a);
	req_resume(a->req);
}

static bool let_go(struct listing_reader *r)
{
	(void)r;
	return true;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct archive *create(struct h2d_req *req, struct files *f, enum archive_kind kind)
{
	const struct doc_root *tree = &f->roots[req->location->root];
	const char *open = archive_open(req, kind);
	struct archive *a = arena_zalloc(&req->arena, sizeof(*a));

	if (a == NULL || open == NULL)
		return NULL;
	*a = (struct archive){
		.files = f,
		.req = req,
		.account = req->conn != NULL ? req_account(req) : NULL,
		.format = &archive_formats[kind],
		.top = archive_top(req->path),
		.seek = UINT64_MAX,
	};
	list_init(&a->reader.node);
	task_init(&a->pause, end_pause);
	a->reader.conn = req->conn;
	a->reader.got = got;
	a->reader.let_go = let_go;
	a->reader.key = (struct listing_key){
		.path = req->path.p,
		.action = "",
		.view.find = "",
		.open = open,
		.archive = kind,
		.site = req->site,
		.routes = req->env->conf.routes,
		.tree = tree,
		.location = req->location,
		.spelled = site_spelling_matters(req->site, req->path),
		.links = reply_file_links(req->location, doc_root_is_upload(tree, req->path)),
		.coding = CODING_IDENTITY,
	};
	return a;
}

bool archive_reply(struct h2d_req *req, struct files *f)
{
	enum archive_kind kind = archive_kind_asked(req->query);
	struct archive *a;
	int rc;

	if (!(req->location->archives >> kind & 1) || req->path.p[req->path.n - 1] != '/')
		return false;
	TRACE_STEP(req, ARCHIVE, TRACE_AT(req->location, archive), "sends the directory as %s",
		archive_formats[kind].name.p);
	a = create(req, f, kind);
	if (a == NULL) {
		reply_conditional_no_memory(req);
		return true;
	}
	if (budget_room(&f->archives, a->account) == 0) {
		reply_later(req, ERR_ARCHIVES, BUSY_MS);
		return true;
	}
	budget_take(&f->archives, a->account, 1);
	body_close(&req->reply.body);
	req->reply.body = (struct body){ .ops = &archive_ops, .req = req, .src = a };
	rc = listing_text_ask(&f->listings, &a->reader);
	if (rc < 0)
		listing_refuse(req, "archive", a->reader.key.path, rc);
	return true;
}
