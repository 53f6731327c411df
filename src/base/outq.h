/*
 * outq: the bytes that a connection still has to write, in order. Small pieces (frame heads, field
 * blocks) are copied together; large payload is borrowed by reference until it is written. One
 * thread; an empty queue holds no memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/pool.h"
#include "base/ref.h"

enum {
	OUTQ_BLOCK = 16384, /* bytes of one copy block, all heads included */
	OUTQ_COPY_MAX =
		2048, /* borrowed pieces up to this size are copied: cheaper than an iovec */
};

struct outq_seg {
	union {
		const uint8_t *p;
		uint64_t at; /* of a range: its offset in the file */
	};
	size_t n;
	struct ref *ref; /* one reference, put when the segment is consumed */
};

struct outq_block;

struct outq {
	struct outq_seg *segs; /* ring of cap (a power of two) segments */
	unsigned head, count, cap;
	size_t len;              /* bytes in all segments */
	struct outq_block *tail; /* place of the next copy; NULL: a new block */
	struct outq_seg *open;   /* the last segment, if it ends at that place */
	struct pool *blocks;
};

/* blocks: a pool of OUTQ_BLOCK bytes that outlives the queue. */
void outq_init(struct outq *q, struct pool *blocks);

static inline size_t outq_len(const struct outq *q)
{
	return q->len;
}

/* Appends a copy of p[0..n). -1 when memory is out: the queue is then unusable, close the
 * connection. */
int outq_copy(struct outq *q, const void *p, size_t n);

/* Appends p[0..n) by reference: takes a reference of its own on ref (or copies, if small). */
int outq_borrow(struct outq *q, const void *p, size_t n, struct ref *ref);

/*
 * Appends a range: n bytes of a file without memory, from at on. No byte may be appended before it
 * is sent or given back, and only a queue whose socket takes files may have one (outq_iov() asserts
 * that there is none).
 */
int outq_range(struct outq *q, struct ref_file *file, uint64_t at, size_t n);

/* For outq.c. */
static inline bool outq_is_range(const struct outq_seg *seg)
{
	return __builtin_expect(seg->ref->in_file, false) &&
	       ((const struct ref_file *)(const void *)seg->ref)->bytes == NULL;
}

static inline bool outq_has_range(const struct outq *q)
{
	return q->count > 0 && outq_is_range(&q->segs[(q->head + q->count - 1) & (q->cap - 1)]);
}

static inline bool outq_range_is_next(const struct outq *q)
{
	return q->count > 0 && outq_is_range(&q->segs[q->head]);
}

/* The file of the first range did not give the bytes; its source will find out why. */
void outq_refuse_range(struct outq *q);

/* Gives the rest of a range back to its source. True: it was refused. */
bool outq_return_last(struct outq *q);
static inline bool outq_return_range(struct outq *q)
{
	return outq_has_range(q) && outq_return_last(q);
}

/* Fills iov with at most max segments and limit bytes from the front; the number filled. */
int outq_iov(const struct outq *q, struct iovec *iov, int max, size_t limit);

/* outq_iov() that stops at a segment of at least file_min bytes of a file (base/ref.h). */
int outq_iov_memory(
	const struct outq *q, struct iovec *iov, int max, size_t limit, size_t file_min);

/* The number of bytes, at most limit, of one file at the front: in *fd from *at on. 0: the front is
 * memory alone, or has less than file_min bytes and is no range. */
size_t outq_file(const struct outq *q, size_t limit, size_t file_min, int *fd, off_t *at);

/* Reports to the lender which of its memory q holds. False: some was refused, q can only be
 * cleared. */
bool outq_ask(const struct outq *q, struct lender *lender);

/* Drops n bytes from the front (n <= outq_len). */
void outq_consume(struct outq *q, size_t n);
void outq_clear(struct outq *q);
