/*
 * disk_range: with sendfile = true, long pieces of a file go to the socket from the page cache, and
 * are never read here (sendfile(2)). A piece is checked as one that is read, but what is written to
 * the file behind the check goes out with it. Called by disk_body.c on the loop, which must not
 * wait for a disk: what is not in memory is read as ever, by a thread.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/disk.h"
#include "request/pace.h"

enum {
	RANGE_LEAST = 32 << 10, /* for less, the calls cost what the copies do */
	RANGE_PIECE = 1 << 20,  /* bytes of which it is found out whether they are in memory, each
				 * from a multiple on */
	RANGE_STEP = 64 << 10,  /* bytes of which one is looked at */
	RANGE_WARM_MS = 1000,   /* for how long the answer is taken */
	/* The end of a file is read: a response whose last bytes may come back is not over. */
	RANGE_REST = DISK_TINY,
};

/* Its file system does not say what is in memory. */
static void give_up(struct disk_file *f)
{
	if (!f->disk->range_told)
		log_info("sendfile: the file system of %s does not say what is in memory, so it is "
			 "copied",
			f->path);
	f->disk->range_told = true;
	f->range.wanted = false;
}

/*
 * Whether n bytes seem to be, by one of each step. Another one each time: what is looked at counts
 * as used for the kernel, which would keep it, and drop what lies between.
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

/* The place of a piece among those that are remembered. NULL: memory is out. */
static struct disk_warm *place_of(struct disk *d, uint64_t ino, uint64_t piece)
{
	uint64_t hash = (ino * 31 + piece) * UINT64_C(0x9e3779b97f4a7c15);

	if (d->warm == NULL)
		d->warm = calloc(DISK_WARM, sizeof(*d->warm));
	return d->warm != NULL ? &d->warm[hash >> 32 & (DISK_WARM - 1)] : NULL;
}

/* Whether a piece is in memory: it costs 12 µs to find out, and what one client is sent another
 * asks for, too. */
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

/* How many of the next n bytes are. */
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
	disk_file_sample(f, bytes, sizeof(bytes), at);
	return true;
}

size_t disk_range_ready(struct disk_file *f, const struct body *b, size_t want)
{
	uint64_t most;

	/* The parts of a multipart content have lengths of their own, to which nothing comes back.
	 */
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
	/* A read finds the same fault, and says so. */
	if (disk_file_check(f) != 0)
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

int disk_range_emit(struct disk_file *f, struct body *b, size_t n, struct outq *q)
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
