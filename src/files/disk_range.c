/*
 * disk_range: with sendfile = true, long pieces of a file go to the socket from the page cache, and
 * are never read here (sendfile(2)). A piece is checked as one that is read, but what is written to
 * the file behind the check goes out with it. Called by disk_body.c on the loop, which must not
 * wait for a disk: what is not in memory is read as ever, by a thread.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cachestat.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "files/disk.h"
#include "request/pace.h"

enum {
	RANGE_LEAST = 32 << 10, /* for less, the calls cost what the copies do */
	RANGE_PIECE =
		1 << 20, /* bytes that the kernel is asked for at once, each from a multiple on */
	RANGE_WARM_MS = 1000, /* for how long its answer is taken */
	/* The end of a file is read: a response whose last bytes may come back is not over. */
	RANGE_REST = DISK_TINY,
};

static uint64_t pages_of(uint64_t at, size_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (at + n - 1) / page - at / page + 1;
}

static void tell(struct disk_file *f)
{
	if (!f->disk->range_told)
		log_info("sendfile: the kernel does not say what of %s is in memory (cachestat: "
			 "%s), so it is copied",
			f->path, strerror(errno));
	f->disk->range_told = true;
}

/* True: all of them are. */
static bool is_cached(struct disk_file *f, uint64_t at, size_t n)
{
	struct cachestat_of range = { .at = at, .n = n };
	struct cachestat_pages now;

	if (cachestat_ask(f->fd, &range, &now) < 0) {
		tell(f);
		f->range.wanted = false;
		return false;
	}
	return now.cached >= pages_of(at, n);
}

/* The place of a piece among those that are remembered. NULL: memory is out. */
static struct disk_warm *place_of(struct disk *d, uint64_t ino, uint64_t piece)
{
	uint64_t hash = (ino * 31 + piece) * UINT64_C(0x9e3779b97f4a7c15);

	if (d->warm == NULL)
		d->warm = calloc(DISK_WARM, sizeof(*d->warm));
	return d->warm != NULL ? &d->warm[hash >> 32 & (DISK_WARM - 1)] : NULL;
}

/*
 * Whether a piece is in memory: it costs 5 µs to ask for one, and what one client is sent another
 * asks for, too. Pages that the disk has yet to fill are counted; of those that a reader has asked
 * for ahead the last one comes last.
 */
static bool is_warm(struct disk_file *f, uint64_t piece)
{
	const struct file_id *id = &f->file_id;
	struct disk_warm *w = place_of(f->disk, id->ino, piece);
	uint64_t at = piece * RANGE_PIECE, left = id->size - at;
	size_t n = left < RANGE_PIECE ? (size_t)left : RANGE_PIECE;
	char last;

	if (w == NULL)
		return false;
	if (w->dev == id->dev && w->ino == id->ino && w->piece == piece &&
		clock_ms() - w->ms < RANGE_WARM_MS)
		return true;
	if (f->kind != BENEATH_MEMORY &&
		(!is_cached(f, at, n) || disk_file_read_now(f, &last, 1, at + n - 1) != 1))
		return false;
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
	if (!f->range.wanted || f->kind == BENEATH_REMOTE || b != &f->req->reply.body ||
		b->left < RANGE_LEAST + RANGE_REST)
		return 0;
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
