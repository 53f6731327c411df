/*
 * body_parts: makes the delimiters and heads of a multipart content at once, so that its length is
 * known, and reads the parts between them from the wrapped source. Called by protocols while they
 * make output; never copies content.
 */
#include "files/reply_conditional.h"

#include <inttypes.h>
#include <stdio.h>

#include "request/req_id.h"

struct part {
	struct slice head;
	struct range range; /* of the last delimiter, empty */
};

struct body_parts {
	struct body inner;
	unsigned at, n;  /* the current part; n: the last delimiter */
	size_t head_off; /* emitted bytes of its head */
	struct part v[];
};

static ssize_t parts_ready(struct body *b, size_t want)
{
	struct body_parts *p = b->src;
	size_t head = p->v[p->at].head.n - p->head_off;

	if (head > 0)
		return (ssize_t)(head < want ? head : want);
	return p->inner.ops->ready(&p->inner, want);
}

static int parts_emit(struct body *b, size_t n, struct outq *q)
{
	struct body_parts *p = b->src;
	struct slice head = p->v[p->at].head;
	int rc;

	b->left -= n;
	if (p->head_off < head.n) {
		rc = outq_copy(q, head.p + p->head_off, n);
		p->head_off += n;
		if (p->head_off == head.n && p->at < p->n)
			p->inner.ops->seek(&p->inner, p->v[p->at].range.at, p->v[p->at].range.n);
		return rc;
	}
	rc = p->inner.ops->emit(&p->inner, n, q);
	if (p->inner.left == 0) {
		p->at++;
		p->head_off = 0;
	}
	return rc;
}

static void parts_rest(struct body *b)
{
	struct body_parts *p = b->src;

	if (p->inner.ops->rest != NULL)
		p->inner.ops->rest(&p->inner);
}

/* Asks for all parts that are not over, and the bytes between them: parts may be in any order. */
static bool parts_ask(const struct body *b, struct lender *lender)
{
	const struct body_parts *p = b->src;
	struct body rest = p->inner;
	uint64_t at = UINT64_MAX, end = 0;

	if (rest.ops->ask == NULL)
		return true;
	for (const struct part *part = p->v + p->at; part < p->v + p->n; part++) {
		const struct range *r = &part->range;

		at = r->at < at ? r->at : at;
		end = r->at + r->n > end ? r->at + r->n : end;
	}
	rest.left = 0;
	if (end > 0)
		rest.ops->seek(&rest, at, end - at);
	return rest.ops->ask(&rest, lender);
}

static void parts_close(struct body *b)
{
	struct body_parts *p = b->src;

	body_close(&p->inner);
}

static const struct body_ops parts_ops = {
	.name = "parts",
	.ready = parts_ready,
	.emit = parts_emit,
	.rest = parts_rest,
	.ask = parts_ask,
	.close = parts_close,
};

/*
 * The delimiter in front of part i, and the part's own headers. The first CRLF is optional (RFC
 * 2046, 5.1.1), but nginx and Apache send it, and zsync needs it.
 */
static struct slice make_head(const struct ranges *r, unsigned i, uint64_t size,
	const char *boundary, struct slice type, struct arena *a)
{
	if (i == r->n)
		return slice_str(arena_printf(a, "\r\n--%s--\r\n", boundary));
	return slice_str(arena_printf(a,
		"\r\n--%s\r\ncontent-type: %.*s\r\n"
		"content-range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n\r\n",
		boundary, SLICE_ARG(type), r->v[i].at, r->v[i].at + r->v[i].n - 1, size));
}

int body_parts(struct body *b, const struct ranges *r, uint64_t size, struct slice type,
	struct slice *content_type, struct arena *a)
{
	struct body_parts *p = arena_zalloc(a, sizeof(*p) + (r->n + 1) * sizeof(p->v[0]));
	char boundary[2 * REQ_ID_BYTES + 1];
	uint64_t n = 0;

	if (p == NULL || req_id_make(boundary).n == 0)
		return -1;
	*content_type = slice_str(arena_printf(a, "multipart/byteranges; boundary=%s", boundary));
	if (content_type->p == NULL)
		return -1;
	for (unsigned i = 0; i <= r->n; i++) {
		struct part *part = &p->v[i];

		part->head = make_head(r, i, size, boundary, type, a);
		if (part->head.p == NULL)
			return -1;
		if (i < r->n)
			part->range = r->v[i];
		n += part->head.n + part->range.n;
	}
	p->n = r->n;
	p->inner = *b;
	b->ops = &parts_ops;
	b->left = n;
	b->src = p;
	return 0;
}
