/*
 * disk_body: a file as the source of a response: one piece at a time, read on the loop when its
 * bytes are in memory, else in a thread. Each piece is checked: a file that shrank or was written
 * since it was opened ends its response only; one that only grew does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/disk.h"
#include "image/memfd.h"
#include "request/pace.h"

enum {
	WAIT_TRIES = 20,
	WAIT_NS = 5000000,
	RANGE_LEAST = 32 << 10, /* for less, the calls cost as much as the copies */
	RANGE_PIECE = 1 << 20,  /* unit of the check for bytes in memory, aligned */
	RANGE_STEP = 64 << 10,  /* one byte is checked of so many */
	RANGE_WARM_MS = 1000,   /* how long the result is valid */
	/* The end of a file is read: a response whose last bytes may come back is not over. */
	RANGE_REST = DISK_TINY,
};

/* --- is it the same? -------------------------------------------------------------------------- */

static int look_at_file(const struct disk_file *f, struct file_id *now)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	*now = file_id_of(&st);
	return 0;
}

/*
 * Called after a read: checks if the file is still the one announced. 0; -EAGAIN: no; -errno;
 * DISK_LATER, on the loop alone: a thread must look closer.
 */
static int check_file(struct disk_file *f)
{
	struct file_id now = { 0 };
	int rc = look_at_file(f, &now);

	if (rc < 0)
		return rc;
	if (file_id_same_content(&now, &f->file_id))
		return 0;
	return now.size < f->file_id.size ? -EAGAIN : DISK_LATER;
}

/*
 * A write(2) changes mtime first and the size when its bytes are written. In between an append
 * looks like an edit, so waits for its end.
 */
static int look_behind_a_write(const struct disk_file *f, struct file_id *now)
{
	int rc = look_at_file(f, now);

	for (int tries = 0; rc == 0 && tries < WAIT_TRIES && now->size == f->file_id.size &&
			    now->mtime_ns != f->file_id.mtime_ns;
		tries++) {
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
		rc = look_at_file(f, now);
	}
	return rc;
}

static bool is_there(struct disk_file *f, const struct disk_sample *s)
{
	char bytes[DISK_SAMPLE];

	return memfd_read(f->fd, bytes, s->n, (off_t)s->at) == 0 &&
	       memcmp(bytes, s->bytes, s->n) == 0;
}

/*
 * A file truncated and rewritten may be longer than before, too. Without known bytes its entity tag
 * decides, if that is of its content; without a strong one there was no promise.
 */
static bool is_the_same(struct disk_file *f)
{
	struct etag now = { 0 };

	if (f->first.n > 0)
		return is_there(f, &f->first) && is_there(f, &f->last);
	if (f->etag.n == 0 || f->etag.text[0] == 'W')
		return true;
	return f->file_id.size <= f->disk->max_file_size &&
	       etag_of_fd(f->fd, f->file_id.size, &now) == 0 &&
	       slice_eq(etag_slice(&now), etag_slice(&f->etag));
}

/* Runs in a thread. */
static int check_closely(struct disk_file *f)
{
	struct file_id now = { 0 };
	int rc = look_behind_a_write(f, &now);

	if (rc < 0)
		return rc;
	if (file_id_same_content(&now, &f->file_id))
		return 0;
	if (!file_id_grew(&now, &f->file_id) || !is_the_same(f))
		return -EAGAIN;
	f->file_id = now;
	return 0;
}

static void take_sample(struct disk_sample *s, const char *bytes, size_t n, uint64_t at)
{
	s->at = at;
	s->n = n;
	memcpy(s->bytes, bytes, n);
}

void disk_file_sample_first(struct disk_file *f)
{
	uint64_t size = f->file_id.size;
	char bytes[DISK_SAMPLE];
	ssize_t n = 0;

	if (f->fd >= 0 && size > f->disk->max_file_size)
		n = disk_file_read_now(
			f, bytes, size < DISK_SAMPLE ? (size_t)size : DISK_SAMPLE, 0);
	if (n > 0)
		take_sample(&f->first, bytes, (size_t)n, 0);
}

/* Samples the n bytes at that place of the file, which were read to be sent. */
static void sample(struct disk_file *f, const char *bytes, size_t n, uint64_t at)
{
	size_t some = n < DISK_SAMPLE ? n : DISK_SAMPLE;

	if (f->first.n == 0)
		take_sample(&f->first, bytes, some, at);
	take_sample(&f->last, bytes + n - some, some, at + n - some);
}

/* --- pieces that are never read here ---------------------------------------------------------- */

/*
 * With sendfile = true they go to the socket from the page cache (sendfile(2)). A piece is checked
 * like one that is read, but later writes to the file go out with it. The loop must not wait for a
 * disk: bytes not in memory are read by a thread.
 */

/* The file system cannot tell cached bytes. */
static void give_up(struct disk_file *f)
{
	if (!f->disk->range_told)
		log_info("sendfile: the file system of %s does not report cached data; copying "
			 "instead",
			f->path);
	f->disk->range_told = true;
	f->range.wanted = false;
}

/*
 * True if n bytes seem to be in memory, by one byte of each step. Another one each time: the kernel
 * counts a checked byte as used, would keep it, and drop those between.
 */
static bool is_cached(struct disk_file *f, uint64_t at, size_t n)
{
	uint32_t *next = &f->disk->range_look;
	char byte;

	for (size_t step = 0; step < n; step += RANGE_STEP) {
		size_t most = n - step < RANGE_STEP ? n - step : RANGE_STEP;

		*next += 0x9e3779b9; /* the golden ratio: the upper bits spread evenly */
		if (disk_file_read_now(f, &byte, 1, at + step + (*next >> 16) % most) != 1)
			return false;
	}
	return true;
}

/* The slot of a piece among those remembered. NULL: memory is out. */
static struct disk_warm *place_of(struct disk *d, uint64_t ino, uint64_t piece)
{
	uint64_t hash = (ino * 31 + piece) * UINT64_C(0x9e3779b97f4a7c15);

	if (d->warm == NULL)
		d->warm = calloc(DISK_WARM, sizeof(*d->warm));
	return d->warm != NULL ? &d->warm[hash >> 32 & (DISK_WARM - 1)] : NULL;
}

/* True if a piece is in memory: the check takes 12 µs, and other clients request the same piece. */
static bool is_warm(struct disk_file *f, uint64_t piece)
{
	const struct file_id *id = &f->file_id;
	struct disk_warm *w = place_of(f->disk, id->ino, piece);
	uint64_t at = piece * RANGE_PIECE, left = id->size - at;
	size_t n = left < RANGE_PIECE ? (size_t)left : RANGE_PIECE;

	if (w == NULL)
		return false;
	if (w->dev == id->dev && w->ino == id->ino && w->piece == piece &&
		clock_ms() - w->ms < RANGE_WARM_MS)
		return true;
	if (f->kind != BENEATH_MEMORY && !is_cached(f, at, n)) {
		if (f->no_nowait)
			give_up(f);
		return false;
	}
	*w = (struct disk_warm){ id->dev, id->ino, piece, clock_ms() };
	return true;
}

/* The number of the next n bytes that are in memory, from the first on. */
static size_t warm_bytes(struct disk_file *f, size_t n)
{
	uint64_t end = f->off;

	while (end < f->off + n && is_warm(f, end / RANGE_PIECE))
		end = (end / RANGE_PIECE + 1) * RANGE_PIECE;
	return end < f->off + n ? (size_t)(end - f->off) : n;
}

static bool sample_now(struct disk_file *f, uint64_t at)
{
	char bytes[DISK_SAMPLE];

	if (disk_file_read_now(f, bytes, sizeof(bytes), at) != (ssize_t)sizeof(bytes))
		return false;
	sample(f, bytes, sizeof(bytes), at);
	return true;
}

/* The number of the next bytes, at most want, to send from the file itself; 0: they must be read.
 * It is open. */
static size_t range_ready(struct disk_file *f, const struct body *b, size_t want)
{
	uint64_t most;

	/* Parts of a multipart content have lengths of their own, to which no bytes can come
	 * back. */
	if (!f->range.wanted || b != &f->req->reply.body || b->left < RANGE_LEAST + RANGE_REST)
		return 0;
	if (f->kind == BENEATH_REMOTE) {
		give_up(f);
		return 0;
	}
	most = b->left - RANGE_REST;
	want = warm_bytes(f, want < most ? want : (size_t)most);
	if (want < RANGE_LEAST || (f->first.n == 0 && !sample_now(f, f->off)) ||
		!sample_now(f, f->off + want - DISK_SAMPLE))
		return 0;
	/* A read finds the same fault, and reports it. */
	if (check_file(f) != 0)
		return 0;
	COUNT(sendfile_pieces, 1);
	disk_file_lend(f);
	return want;
}

/* The socket did not take them, or the file did not give them. */
static void come_back(struct ref_file *file, size_t n)
{
	struct disk_file *f = LIST_ENTRY(file, struct disk_file, range.file);

	f->off -= n;
	f->req->reply.body.left += n;
	pace_back(f->req, n);
	if (file->refuses)
		f->range.wanted = false;
}

static void on_release(struct ref *ref)
{
	(void)ref;
	H2D_ASSERT(false);
}

static int range_emit(struct disk_file *f, struct body *b, size_t n, struct outq *q)
{
	struct ref_file *file = &f->range.file;
	uint64_t at = f->off;

	if (file->back == NULL) {
		ref_init(&file->ref, on_release);
		file->ref.in_file = true;
		file->back = come_back;
	}
	file->fd = f->fd;
	f->off += n;
	b->left -= n;
	return outq_range(q, file, at, n);
}

/* --- pieces ----------------------------------------------------------------------------------- */

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

/* Large ones only while there are few: slow readers keep them long. */
static uint32_t size_for(const struct disk *d, uint64_t n)
{
	/* Also if the read but unsent bytes exceed the worker's share of memory. */
	if (n <= DISK_TINY ||
		(uint64_t)d->small.live * DISK_SMALL + (uint64_t)d->large.live * DISK_LARGE >=
			DISK_BUFFERED_MAX)
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
		sample(f, f->buf->data, n, f->off);
		f->at = 0;
		f->have = n;
		f->off += n;
		return;
	}
	disk_file_fail(f, rc);
}

static void disk_read_run(struct job *j)
{
	struct disk_file *f = disk_file_of(j);

	f->result = memfd_read(f->fd, f->buf->data, f->piece, (off_t)f->off);
	if (f->result == 0)
		f->result = check_closely(f);
}

static void disk_read_then(struct disk_file *f)
{
	if (f->result == 0)
		disk_file_go(f, DISK_SEND);
	take_piece(f, f->result, f->piece);
	disk_file_lend(f);
	req_resume(f->req);
}

/* Gets the next piece of the left bytes, of which want may be sent now, or makes a thread read it.
 */
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
	rc = got > 0 ? check_file(f) : got < 0 ? (int)got : DISK_LATER;
	if (rc == DISK_LATER)
		rc = disk_file_submit(f, DISK_READ, disk_file_class(f));
	if (rc == DISK_LATER)
		return;
	take_piece(f, rc, got > 0 ? (size_t)got : 0);
	disk_file_lend(f);
}

/* --- the source ------------------------------------------------------------------------------- */

static ssize_t file_ready(struct body *b, size_t want)
{
	struct disk_file *f = b->src;
	size_t range;

	if (f->have == 0 && b->left > 0 && disk_file_regain(f)) {
		range = range_ready(f, b, want);
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
		return range_emit(f, b, n, q);
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
	static const struct disk_step steps[DISK_STATES] = {
		[DISK_OPEN] = { disk_open_run, disk_open_then },
		[DISK_TAG] = { disk_tag_run, disk_tag_then },
		[DISK_READ] = { disk_read_run, disk_read_then },
		[DISK_CLOSE] = { disk_close_run, disk_close_then },
		[DISK_REOPEN] = { disk_reopen_run, disk_reopen_then },
	};

	f->steps = steps;
	b->ops = &file_ops;
	b->req = f->req;
	b->left = 0;
	b->src = f;
}
