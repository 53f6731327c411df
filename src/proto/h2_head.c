/*
 * h2_head: header sections of responses. nghttp2 makes their frames empty, and reports when one is
 * due; then the section is written here (hpack.h), with a quarter of nghttp2's instructions, and
 * joins its frame on the way out. Called by nghttp2, before it sends a frame, and by h2_out.c for
 * each HEADERS frame. nghttp2 makes interim responses itself.
 */
#include "proto/h2.h"

enum {
	FRAME_HEAD = 9, /* RFC 9113, 4.1 */
	FRAME_MAX = 16384,
	/* Before a section: the frame's head, and changes of the table's size, by nghttp2. */
	FRONT = 32,
	SECTION_MAX = 64 * 1024, /* nghttp2's limit, too */
};

/* The due section, in the same call of nghttp2_session_mem_send() as its frame. */
static uint8_t made[FRONT + SECTION_MAX];

void h2_head_too_long(struct h2 *h2, int32_t id)
{
	log_peer(LEVEL_ERROR, "connection %s: response headers too long; resetting the stream",
		ADDR_HOST(&h2->host->conn->peer));
	nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
}

/* Replaces a section that is too long by status 500 alone, and resets its stream. */
static __attribute__((noinline)) uint8_t *give_up(struct h2_stream *s)
{
	h2_head_too_long(s->h2, s->id);
	return hpack_status(500, made + FRONT);
}

/* Writes the due section of s: its response's head, then the trailers. Returns its end. */
static uint8_t *h2_head_make(struct h2_stream *s)
{
	struct hpack *hpack = &s->h2->hpack;
	const uint8_t *end = made + sizeof(made);
	const struct reply *r = &s->req.reply;
	const struct trailers *trailers;
	uint8_t *p;

	if (!s->headed) {
		s->headed = true;
		p = hpack_fields(
			hpack, r->fields, r->nfields, hpack_status(r->status, made + FRONT), end);
		return p != NULL ? p : give_up(s);
	}
	trailers = body_trailers(&r->body);
	H2D_ASSERT(trailers != NULL);
	p = hpack_fields(hpack, trailers->v, trailers->n, made + FRONT, end);
	H2D_ASSERT(p != NULL); /* they have TRAILERS_SIZE bytes at most */
	return p;
}

/* The stream of a frame: usually the next opened one after that of the last frame. */
static struct h2_stream *stream_of(struct h2 *h2, int32_t id)
{
	struct h2_stream *s = h2->due;
	struct list *next;

	if (s == NULL || s->id != id)
		s = nghttp2_session_get_stream_user_data(h2->session, id);
	H2D_ASSERT(s != NULL);
	next = s->node.next;
	h2->due = next != &h2->streams ? LIST_ENTRY(next, struct h2_stream, node) : NULL;
	return s;
}

void h2_head_due(struct h2 *h2, const nghttp2_frame *frame)
{
	struct h2_stream *s;

	h2->section = 0;
	if (frame->headers.nvlen > 0)
		return;
	s = stream_of(h2, frame->hd.stream_id);
	h2->section = (size_t)(h2_head_make(s) - (made + FRONT));
}

static void set_length(uint8_t *head, size_t n)
{
	head[0] = (uint8_t)(n >> 16);
	head[1] = (uint8_t)(n >> 8);
	head[2] = (uint8_t)n;
}

/* RFC 9113, 6.10: the rest of n bytes at p that does not fit into one frame continues in others. */
static __attribute__((noinline)) int put_frames(
	struct h2 *h2, uint8_t head[FRAME_HEAD], const uint8_t *p, size_t n)
{
	head[4] &= (uint8_t)~NGHTTP2_FLAG_END_HEADERS;
	while (n > 0) {
		size_t piece = n < FRAME_MAX ? n : FRAME_MAX;

		set_length(head, piece);
		n -= piece;
		if (n == 0)
			head[4] |= NGHTTP2_FLAG_END_HEADERS;
		if (outq_copy(h2->out, head, FRAME_HEAD) < 0 || outq_copy(h2->out, p, piece) < 0)
			return -1;
		p += piece;
		head[3] = NGHTTP2_CONTINUATION;
		head[4] = NGHTTP2_FLAG_NONE;
	}
	return 0;
}

int h2_head_put(struct h2 *h2, const uint8_t *frame, size_t n)
{
	uint8_t *start = made + FRONT - n;

	h2->resized = false;
	if (h2->section == 0)
		return outq_copy(h2->out, frame, n);
	H2D_ASSERT(n >= FRAME_HEAD && n <= FRONT);
	memcpy(start, frame, n);
	n += h2->section;
	if (__builtin_expect(n - FRAME_HEAD > FRAME_MAX, false))
		return put_frames(h2, start, start + FRAME_HEAD, n - FRAME_HEAD);
	set_length(start, n - FRAME_HEAD);
	return outq_copy(h2->out, start, n);
}
