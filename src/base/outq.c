/*
 * outq: a ring of segments over copy blocks and borrowed memory. Every segment, and tail, holds a
 * reference on its memory.
 */
#include "base/outq.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

struct outq_block {
	struct ref ref;
	unsigned used;
	struct pool *pool;
	uint8_t data[];
};

enum {
	ROOM = OUTQ_BLOCK - sizeof(struct outq_block),
	RING_MIN = 8, /* largest ring of an idle connection */
};

static void block_release(struct ref *ref)
{
	struct outq_block *block = (struct outq_block *)(void *)ref;

	pool_put(block->pool, block);
}

_Static_assert(offsetof(struct outq_block, ref) == 0, "block_release casts");

void outq_init(struct outq *q, struct pool *blocks)
{
	H2D_ASSERT(blocks->size == OUTQ_BLOCK);
	*q = (struct outq){ .blocks = blocks };
}

static __attribute__((cold, noinline)) int ring_grow(struct outq *q)
{
	unsigned cap = q->cap > 0 ? q->cap * 2 : RING_MIN;
	struct outq_seg *segs = malloc(cap * sizeof(*segs));

	if (segs == NULL)
		return -1;
	for (unsigned i = 0; i < q->count; i++)
		segs[i] = q->segs[(q->head + i) & (q->cap - 1)];
	free(q->segs);
	q->segs = segs;
	q->head = 0;
	q->cap = cap;
	return 0;
}

/* The new segment; NULL when memory is out. */
static inline struct outq_seg *push(struct outq *q, const uint8_t *p, size_t n, struct ref *ref)
{
	struct outq_seg *seg;

	if (__builtin_expect(q->count == q->cap, 0) && ring_grow(q) != 0)
		return NULL;
	seg = &q->segs[(q->head + q->count) & (q->cap - 1)];
	*seg = (struct outq_seg){ .p = p, .n = n, .ref = ref };
	ref_get(ref);
	q->count++;
	q->len += n;
	return seg;
}

static void drop_tail(struct outq *q)
{
	if (q->tail != NULL)
		ref_put(&q->tail->ref);
	q->tail = NULL;
	q->open = NULL;
}

static void emptied(struct outq *q)
{
	drop_tail(q);
	if (q->cap > RING_MIN) {
		free(q->segs);
		q->segs = NULL;
		q->cap = 0;
	}
	q->head = 0;
}

static int next_block(struct outq *q)
{
	struct outq_block *block = pool_get(q->blocks);

	if (block == NULL)
		return -1;
	drop_tail(q);
	ref_init(&block->ref, block_release);
	block->used = 0;
	block->pool = q->blocks;
	q->tail = block;
	return 0;
}

/* Copies n bytes that fit into tail. */
static inline int copy_into_tail(struct outq *q, const uint8_t *p, size_t n)
{
	struct outq_block *block = q->tail;
	uint8_t *to = block->data + block->used;

	memcpy(to, p, n);
	if (q->open != NULL) {
		q->open->n += n;
		q->len += n;
	} else {
		q->open = push(q, to, n, &block->ref);
		if (q->open == NULL)
			return -1;
	}
	block->used += (unsigned)n;
	return 0;
}

/* Copies into tail and into new blocks. */
static __attribute__((noinline)) int copy_in_pieces(struct outq *q, const uint8_t *from, size_t n)
{
	while (n > 0) {
		size_t room = q->tail != NULL ? ROOM - q->tail->used : 0;
		size_t piece;

		if (room == 0) {
			if (next_block(q) != 0)
				return -1;
			room = ROOM;
		}
		piece = n < room ? n : room;
		if (copy_into_tail(q, from, piece) != 0)
			return -1;
		from += piece;
		n -= piece;
	}
	return 0;
}

int outq_copy(struct outq *q, const void *p, size_t n)
{
	if (__builtin_expect(q->tail != NULL && n > 0 && n <= ROOM - q->tail->used, 1))
		return copy_into_tail(q, p, n);
	return copy_in_pieces(q, p, n);
}

int outq_borrow(struct outq *q, const void *p, size_t n, struct ref *ref)
{
	if (n <= OUTQ_COPY_MAX)
		return outq_copy(q, p, n);
	q->open = NULL;
	return push(q, p, n, ref) != NULL ? 0 : -1;
}

/* The file from which a socket takes seg; NULL: its memory is sent. */
static inline const struct ref_file *file_of(const struct outq_seg *seg, size_t file_min)
{
	const struct ref_file *file = (const struct ref_file *)(const void *)seg->ref;

	if (__builtin_expect(!seg->ref->in_file, true))
		return NULL;
	return file->bytes == NULL || (file->fd >= 0 && seg->n >= file_min) ? file : NULL;
}

int outq_range(struct outq *q, struct ref_file *file, uint64_t at, size_t n)
{
	struct outq_seg *seg;

	H2D_ASSERT(file->ref.in_file && file->bytes == NULL && file->fd >= 0);
	q->open = NULL;
	seg = push(q, NULL, n, &file->ref);
	if (seg == NULL)
		return -1;
	seg->at = at;
	file->refuses = false;
	return 0;
}

void outq_refuse_range(struct outq *q)
{
	H2D_ASSERT(outq_range_is_next(q));
	((struct ref_file *)(void *)q->segs[q->head].ref)->refuses = true;
}

bool outq_return_last(struct outq *q)
{
	struct outq_seg *seg = &q->segs[(q->head + q->count - 1) & (q->cap - 1)];
	struct ref_file *file = (struct ref_file *)(void *)seg->ref;
	size_t n = seg->n;

	q->count--;
	q->len -= n;
	if (q->count == 0)
		emptied(q);
	ref_put(&file->ref);
	file->back(file, n);
	return file->refuses;
}

size_t outq_file(const struct outq *q, size_t limit, size_t file_min, int *fd, off_t *at)
{
	const struct outq_seg *seg = &q->segs[q->head];
	const struct ref_file *file = q->count > 0 ? file_of(seg, file_min) : NULL;

	if (file == NULL)
		return 0;
	*fd = file->fd;
	*at = file->bytes == NULL ? (off_t)seg->at : seg->p - file->bytes;
	return seg->n < limit ? seg->n : limit;
}

int outq_iov_memory(const struct outq *q, struct iovec *iov, int max, size_t limit, size_t file_min)
{
	int filled = 0;

	for (unsigned i = 0; i < q->count && filled < max && limit > 0; i++) {
		const struct outq_seg *seg = &q->segs[(q->head + i) & (q->cap - 1)];
		size_t n = seg->n < limit ? seg->n : limit;

		if (file_of(seg, file_min) != NULL)
			break;
		/* iovec has no const; only read. */
		iov[filled].iov_base = (void *)(uintptr_t)seg->p;
		iov[filled].iov_len = n;
		filled++;
		limit -= n;
	}
	return filled;
}

int outq_iov(const struct outq *q, struct iovec *iov, int max, size_t limit)
{
	H2D_ASSERT(!outq_has_range(q));
	return outq_iov_memory(q, iov, max, limit, SIZE_MAX);
}

bool outq_ask(const struct outq *q, struct lender *lender)
{
	bool refused = false;

	for (unsigned i = 0; i < q->count; i++) {
		const struct outq_seg *seg = &q->segs[(q->head + i) & (q->cap - 1)];

		if (outq_is_range(seg))
			continue;
		refused |= lender->needs(lender, seg->ref, seg->p, seg->n) == LENDER_REFUSES;
	}
	return !refused;
}

void outq_consume(struct outq *q, size_t n)
{
	H2D_ASSERT(n <= q->len);
	q->len -= n;
	while (n > 0) {
		struct outq_seg *seg = &q->segs[q->head];
		struct ref *ref = seg->ref;

		if (n < seg->n) {
			if (outq_is_range(seg))
				seg->at += n;
			else
				seg->p += n;
			seg->n -= n;
			return;
		}
		n -= seg->n;
		q->head = (q->head + 1) & (q->cap - 1);
		q->count--;
		ref_put(ref);
	}
	if (q->count == 0)
		emptied(q);
}

void outq_clear(struct outq *q)
{
	outq_consume(q, q->len);
	free(q->segs);
	q->segs = NULL;
	q->head = q->cap = 0;
}
