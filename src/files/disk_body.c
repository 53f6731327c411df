/*
 * disk_body: a file as the source of a response: one piece at a time, read on the loop when its
 * bytes are in memory, else in a thread. Each piece is checked: a file that shrank or was written
 * since it was opened ends its response, and nothing else; one that only grew does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "files/disk.h"

static struct pool *pool_of(struct disk *d, uint32_t size)
{
	if (size == DISK_TINY)
		return &d->tiny;
	return size == DISK_SMALL ? &d->small : &d->large;
}

static void buf_release(struct ref *ref)
{
	struct disk_buf *buf = LIST_ENTRY(ref, struct disk_buf, ref);

	pool_put(pool_of(buf->disk, buf->size), buf);
}

/* True: bytes that were read and are not sent are more than the worker's share of memory for them.
 */
static bool buffers_many(const struct disk *d)
{
	return (uint64_t)d->small.live * DISK_SMALL + (uint64_t)d->large.live * DISK_LARGE >=
	       DISK_BUFFERED_MAX;
}

/* Large ones only while they are few: slow readers hold on to them. */
static uint32_t size_for(const struct disk *d, uint64_t n)
{
	if (n <= DISK_TINY || buffers_many(d))
		return DISK_TINY;
	return n >= DISK_LARGE && d->large.live < DISK_LARGE_MAX ? DISK_LARGE : DISK_SMALL;
}

static struct disk_buf *buf_get(struct disk *d, uint64_t n)
{
	uint32_t size = size_for(d, n);
	struct disk_buf *buf = pool_get(pool_of(d, size));

	if (buf == NULL)
		return NULL;
	ref_init(&buf->ref, buf_release);
	buf->disk = d;
	buf->size = size;
	return buf;
}

static void take_piece(struct disk_file *f, int rc, size_t n)
{
	if (rc == 0) {
		disk_file_sample(f, f->buf->data, n, f->off);
		f->at = 0;
		f->have = n;
		f->off += n;
		return;
	}
	disk_file_fail(f, rc);
}

void disk_read_run(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	f->result = disk_file_pread(f, f->buf->data, f->piece, f->off);
	if (f->result == 0)
		f->result = disk_file_check_closely(f);
}

void disk_read_then(struct disk_file *f)
{
	if (f->result == 0)
		disk_file_go(f, DISK_SEND);
	take_piece(f, f->result, f->piece);
	disk_file_lend(f);
	req_resume(f->req);
}

/* Gets a next piece of the left bytes, of which want may be sent now, or a thread to read it. */
static void fill_piece(struct disk_file *f, uint64_t left, size_t want)
{
	ssize_t got;
	int rc;

	if (want < DISK_EXACT && want < left)
		left = want;
	f->buf = buf_get(f->disk, left);
	if (f->buf == NULL) {
		take_piece(f, -ENOMEM, 0);
		return;
	}
	f->piece = left < f->buf->size ? (size_t)left : f->buf->size;
	got = disk_file_read_now(f, f->buf->data, f->piece, f->off);
	rc = got > 0 ? disk_file_check(f) : got < 0 ? (int)got : DISK_LATER;
	if (rc == DISK_LATER)
		rc = disk_file_submit(f, DISK_READ, disk_file_class(f));
	if (rc == DISK_LATER)
		return;
	take_piece(f, rc, got > 0 ? (size_t)got : 0);
	disk_file_lend(f);
}

static ssize_t file_ready(struct body *b, size_t want)
{
	struct disk_file *f = b->src;
	size_t range;

	if (f->have == 0 && b->left > 0 && disk_file_regain(f)) {
		range = disk_range_ready(f, b, want);
		if (range > 0)
			return (ssize_t)range;
		fill_piece(f, b->left, want);
	}
	if (f->state == DISK_FAILED)
		return BODY_FAILED;
	if (f->have == 0 && b->left > 0)
		return BODY_LATER;
	return (ssize_t)(f->have < want ? f->have : want);
}

static int file_emit(struct body *b, size_t n, struct outq *q)
{
	struct disk_file *f = b->src;
	int rc;

	if (f->have == 0)
		return disk_range_emit(f, b, n, q);
	rc = outq_borrow(q, f->buf->data + f->at, n, &f->buf->ref);
	f->at += n;
	f->have -= n;
	b->left -= n;
	if (f->have == 0) {
		ref_put(&f->buf->ref);
		f->buf = NULL;
	}
	return rc;
}

static void file_seek(struct body *b, uint64_t at, uint64_t n)
{
	struct disk_file *f = b->src;

	H2D_ASSERT(!f->busy && f->have == 0);
	f->off = at;
	b->left = n;
}

static void file_rest(struct body *b)
{
	struct disk_file *f = b->src;

	places_rest(&f->disk->places, &f->place);
	if (f->buf == NULL || f->busy)
		return;
	f->off -= f->have;
	f->have = 0;
	ref_put(&f->buf->ref);
	f->buf = NULL;
}

static void file_close(struct body *b)
{
	struct disk_file *f = b->src;

	disk_file_close(&f);
}

static const struct body_ops file_ops = {
	.name = "file",
	.ready = file_ready,
	.emit = file_emit,
	.seek = file_seek,
	.rest = file_rest,
	.close = file_close,
	.ranges = true,
};

void disk_file_attach(struct disk_file *f, struct body *b)
{
	b->ops = &file_ops;
	b->req = f->req;
	b->left = 0;
	b->src = f;
}
