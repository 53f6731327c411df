/*
 * disk_etag: the entity tag of an open file, found in a thread unless it is remembered. What it is taken
 * from holds still: from then on every write moves the time stamps, so that the pieces that are sent,
 * each checked by them, are of the content that was hashed. See disk.h.
 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "cache/disk.h"
#include "cache/quiet.h"

enum { HASH_TRIES = 3, SETTLE_TRIES = 4, SETTLE_NS = 5000000, WRITE_MAX_NS = 2000000000 };

int64_t disk_stamp_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Takes f->ident anew. 0, or -errno. */
static int look_again(struct disk_file *f)
{
	struct stat st;

	f->seen_ns = disk_stamp_ns();
	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->ident = ident_of(&st);
	return 0;
}

/* Until the next write would be seen in f->ident: a tick after the last one. 0, -EAGAIN, -errno. */
static int settle(struct disk_file *f)
{
	for (int tries = 0; !ident_tells(&f->ident, f->seen_ns); tries++) {
		int rc;

		if (tries == SETTLE_TRIES)
			return -EAGAIN;
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
		rc = look_again(f);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Once over the whole file. 0, -EAGAIN if it changed meanwhile (f->ident is the new one), -errno. */
static int hash_once(struct disk_file *f, struct etag_hash *h)
{
	struct ident before = f->ident;
	int64_t seen_ns = f->seen_ns;
	int rc = etag_hash_begin(h), looked;

	quiet_wait(f->fd);
	for (uint64_t at = 0; rc == 0 && at < before.size;) {
		uint64_t left = before.size - at;
		size_t n = left < f->buf->size ? (size_t)left : f->buf->size;

		rc = disk_file_pread(f, f->buf->data, n, at);
		if (rc == 0)
			rc = etag_hash_add(h, f->buf->data, n);
		at += n;
	}
	if (rc == 0)
		rc = etag_hash_end(h, &f->etag);
	if (rc < 0 && rc != -EAGAIN)
		return rc;
	looked = look_again(f);
	if (looked < 0)
		return looked;
	if (rc < 0 || !ident_eq(&before, &f->ident))
		return -EAGAIN;
	f->seen_ns = seen_ns;
	return 0;
}

static int make_etag(struct disk_file *f, struct etag_hash *h)
{
	int rc = settle(f);

	if (rc < 0)
		return rc;
	if (f->ident.size <= f->disk->max_file_size)
		return hash_once(f, h);
	quiet_wait(f->fd);
	etag_of_size(&f->ident, &f->etag);
	return 0;
}

static void etag_work(struct job *j)
{
	struct disk_file *f = disk_file_of(j);
	struct etag_hash *h = etag_hash_new();

	f->result = h == NULL ? -ENOMEM : -EAGAIN;
	for (int tries = 0; tries < HASH_TRIES && f->result == -EAGAIN; tries++)
		f->result = make_etag(f, h);
	etag_hash_free(&h);
}

static void etag_finish(struct disk_file *f)
{
	bool hashed = f->result == 0 && f->ident.size <= f->disk->max_file_size;

	if (hashed)
		etag_memo_put(f->disk->memo, &f->ident, &f->etag, f->seen_ns);
	if (f->result == -EAGAIN) {
		/* It is being written: served, but with nothing that promises bytes. */
		f->etag.n = 0;
		f->result = 0;
	}
	f->whole = hashed && f->ident.size > 0 && f->ident.size <= f->buf->size;
	if (f->whole) {
		f->have = f->ident.size;
	} else {
		ref_put(&f->buf->ref);
		f->buf = NULL;
	}
	f->fn(f, f->result);
}

int disk_file_etag(struct disk_file *f)
{
	/* Waiting is for threads, but whoever began to write so long ago is done. */
	if (f->ident.size > f->disk->max_file_size &&
		f->seen_ns - f->ident.ctime_ns > WRITE_MAX_NS) {
		etag_of_size(&f->ident, &f->etag);
		return 0;
	}
	if (etag_memo_get(f->disk->memo, &f->ident, &f->etag))
		return 0;
	f->buf = disk_buf_get(f->disk, 0);
	if (f->buf == NULL)
		return -ENOMEM;
	return disk_file_later(f, etag_work, etag_finish);
}
