/*
 * coded: a source of content that reads another one and compresses its bytes (compress-responses).
 * When the other one has none for now, all that it gave is flushed, so that a stream of events
 * arrives event by event.
 */
#include "base/pool.h"
#include "http/compress.h"
#include "http/mime.h"
#include "request/req_client.h"
#include "share/account.h"
#include "upstream/exchange.h"

enum {
	CODED_MAX = 32,     /* responses under way; each has a compressor (COMPRESS_NOW) */
	CODED_LEAST = 1024, /* shorter content is not compressed */
	READ_BYTES = 32 << 10,
};

struct coded {
	struct body from;
	struct outq in; /* bytes of from */
	struct compressor *compressor;
	struct account *account;
	enum compress_op op; /* of the bytes in in */
	bool more;           /* op is not done */
	size_t at, n;        /* of out: the next unread byte, and how many are left */
	uint8_t out[16 << 10];
};

static struct budget budget = { .kind = ACCOUNT_CODED,
	.max = CODED_MAX,
	.least = 1,
	.part = 1,
	.holders = { &budget.holders, &budget.holders } };
static struct pool codeds = { .size = sizeof(struct coded), .keep = 4 };
static struct pool blocks = { .size = OUTQ_BLOCK, .keep = 4 };

/* Takes the next bytes of from, or its end, or the lack of any, which is a flush. BODY_LATER: there
 * are none, and all is flushed; BODY_FAILED. */
static ssize_t refill(struct coded *c)
{
	enum compress_op last = c->op;
	ssize_t n = c->from.ops->ready(&c->from, READ_BYTES);

	if (n == BODY_FAILED || (n == BODY_LATER && last == COMPRESS_FLUSH))
		return n;
	if (n > 0 && c->from.ops->emit(&c->from, (size_t)n, &c->in) < 0)
		return BODY_FAILED;
	c->op = n > 0 ? COMPRESS_MORE : n == 0 ? COMPRESS_END : COMPRESS_FLUSH;
	c->more = true;
	return 1;
}

static bool run(struct coded *c)
{
	struct compress_room room = { c->out, sizeof(c->out) };
	struct iovec v = { 0 };
	struct slice in;
	int rc;

	outq_iov(&c->in, &v, 1, READ_BYTES);
	in = slice_of(v.iov_base, v.iov_len);
	rc = compressor_run(c->compressor, c->op, &in, &room);
	outq_consume(&c->in, v.iov_len - in.n);
	c->more = rc > 0 || outq_len(&c->in) > 0;
	c->at = 0;
	c->n = sizeof(c->out) - room.n;
	return rc >= 0;
}

static ssize_t coded_ready(struct body *b, size_t want)
{
	struct coded *c = b->src;
	ssize_t rc;

	while (c->n == 0) {
		if (!c->more && c->op == COMPRESS_END) {
			b->left = 0;
			b->trailers = c->from.trailers;
			return 0;
		}
		rc = c->more ? 1 : refill(c);
		if (rc < 0)
			return rc;
		if (!run(c))
			return BODY_FAILED;
	}
	return (ssize_t)(c->n < want ? c->n : want);
}

static int coded_emit(struct body *b, size_t n, struct outq *q)
{
	struct coded *c = b->src;
	const uint8_t *p = c->out + c->at;

	c->at += n;
	c->n -= n;
	return outq_copy(q, p, n);
}

static void coded_close(struct body *b)
{
	struct coded *c = b->src;

	body_close(&c->from);
	outq_clear(&c->in);
	compressor_free(&c->compressor);
	budget_give(&budget, c->account, 1);
	pool_put(&codeds, c);
}

static const struct body_ops coded_ops = {
	.name = "coded",
	.ready = coded_ready,
	.emit = coded_emit,
	.close = coded_close,
};

/* --- the choice ------------------------------------------------------------------------------- */

/* True if a cache may get the content in a coding (RFC 9110, 7.7 and 8.8; RFC 9530). */
static bool may_be_coded(struct h2d_req *req, int status)
{
	const struct reply *r = &req->reply;
	const struct field *type = field_find(r->fields, r->nfields, SLICE("content-type"));
	struct slice rest, media;
	struct mime mime;

	if (type == NULL || r->body.left < CODED_LEAST || status == 204 || status == 206 ||
		status == 304)
		return false;
	for (const struct field *f = r->fields; f < r->fields + r->nfields; f++)
		if (field_among(
			    f->name, "content-encoding content-range content-digest repr-digest") ||
			(slice_eq(f->name, SLICE("cache-control")) &&
				field_list_has(f->value, SLICE("no-transform"))))
			return false;
	rest = type->value;
	slice_cut(&rest, ';', &media);
	media = arena_dup(&req->arena, field_trim(media));
	return media.p != NULL && mime_parse_type(media.p, &mime) == NULL &&
	       mime_packs(req->location->types, &mime);
}

/* The validator is of the bytes before: a weak one (RFC 9110, 8.8.1), and no ranges. */
static int change_fields(struct h2d_req *req, enum coding coding)
{
	for (struct field *f = req->reply.fields; f < req->reply.fields + req->reply.nfields; f++)
		if (slice_eq(f->name, SLICE("accept-ranges")))
			f->value = SLICE("none");
		else if (slice_eq(f->name, SLICE("etag")) && !slice_starts(f->value, SLICE("W/")))
			f->value =
				slice_str(arena_printf(&req->arena, "W/%.*s", SLICE_ARG(f->value)));
	return reply_add(req, SLICE("content-encoding"), coding_names[coding]);
}

void coded_begin(struct h2d_req *req, int status)
{
	unsigned codings = req->location->response_codings & compress_built();
	struct body *b = &req->reply.body;
	enum coding coding;
	struct coded *c;

	if (codings == 0 || !may_be_coded(req, status) ||
		reply_vary(req, SLICE("accept-encoding")) < 0)
		return;
	coding = coding_choose(req->fields, req->nfields, codings);
	if (coding >= CODINGS || req->method == H2D_HEAD ||
		budget_room(&budget, req_account(req)) == 0)
		return;
	c = pool_get(&codeds);
	if (c == NULL)
		return;
	*c = (struct coded){ .from = *b, .account = req_account(req), .op = COMPRESS_MORE };
	c->compressor = compressor_new(coding, COMPRESS_NOW, SIZE_MAX);
	if (c->compressor == NULL || change_fields(req, coding) < 0) {
		compressor_free(&c->compressor);
		pool_put(&codeds, c);
		return;
	}
	outq_init(&c->in, &blocks);
	budget_take(&budget, c->account, 1);
	*b = (struct body){ .ops = &coded_ops, .req = req, .left = BODY_UNKNOWN, .src = c };
}
