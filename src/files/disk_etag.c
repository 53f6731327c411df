/*
 * disk_etag: the entity tag of an open file, found in a thread unless it is remembered. What it is
 * taken from holds still: from then on every write moves the time stamps, so that the pieces that
 * are sent, each checked by them, are of the content that was hashed. A long file is hashed behind
 * its response (hasher.h), one that goes on changing is not: they have no tag until then. See
 * disk.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/counters.h"
#include "files/disk.h"
#include "image/wait_writers.h"

enum {
	HASH_TRIES = 3,
	SETTLE_TRIES = 4,
	SETTLE_NS = 5000000,
	QUIET_BYTES = 64 << 20, /* a second of quiet for each */
};

/* Takes f->file_id anew. 0, or -errno. */
static int look_again(struct disk_file *f)
{
	struct stat st;

	f->seen_ns = file_id_clock_ns();
	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->file_id = file_id_of(&st);
	return 0;
}

/* Waits until the next write would be seen in f->file_id: a tick after the last one. 0, -EAGAIN,
 * -errno. */
static int settle(struct disk_file *f)
{
	for (int tries = 0; !file_id_tells(&f->file_id, f->seen_ns); tries++) {
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

/* Waits for writes that are under way. 0, -errno; -EAGAIN: one goes on and on, and other threads
 * wait for it already. */
static int wait_in_turn(const struct disk_file *f)
{
	int rc = 0;

	if (f->seen_ns - f->file_id.ctime_ns > WAIT_WRITERS_NS)
		return 0;
	for (int tries = 0; tries < SETTLE_TRIES; tries++) {
		rc = wait_writers(f->fd, &f->file_id);
		if (rc == 0)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
	}
	return rc;
}

/* Hashes the first n bytes. 0, -EAGAIN if there are fewer, -errno. */
static int hash_bytes(
	struct disk_file *f, struct etag_hash *h, char *buf, uint64_t n, struct etag *e)
{
	int rc = etag_hash_begin(h);

	for (uint64_t at = 0; rc == 0 && at < n;) {
		size_t piece = n - at < DISK_SMALL ? (size_t)(n - at) : DISK_SMALL;

		rc = disk_file_pread(f, buf, piece, at);
		if (rc == 0)
			rc = etag_hash_add(h, buf, piece);
		at += piece;
	}
	return rc == 0 ? etag_hash_end(h, e) : rc;
}

/* Hashes the whole file. 0, -EAGAIN if it changed meanwhile (f->file_id is the new one), -errno. */
static int hash_once(struct disk_file *f, struct etag_hash *h, char *buf)
{
	struct file_id before = f->file_id;
	int64_t seen_ns = f->seen_ns;
	int rc = wait_in_turn(f), looked;

	if (rc == 0)
		rc = hash_bytes(f, h, buf, before.size, &f->etag);
	if (rc < 0 && rc != -EAGAIN)
		return rc;
	looked = look_again(f);
	if (looked < 0)
		return looked;
	if (rc < 0 || !file_id_eq(&before, &f->file_id))
		return -EAGAIN;
	f->seen_ns = seen_ns;
	return 0;
}

bool disk_file_has_etag(struct disk_file *f)
{
	struct etag_hash *h = etag_hash_new();
	char *buf = malloc(DISK_SMALL);
	struct etag now = { 0 };
	bool has = h != NULL && buf != NULL && hash_bytes(f, h, buf, f->file_id.size, &now) == 0 &&
		   slice_eq(etag_slice(&now), etag_slice(&f->etag));

	etag_hash_free(&h);
	free(buf);
	return has;
}

static int make_etag(struct disk_file *f, struct etag_hash *h, char *buf)
{
	int rc = settle(f);

	return rc == 0 ? hash_once(f, h, buf) : rc;
}

static int find_etag(struct disk_file *f)
{
	struct etag_hash *h = etag_hash_new();
	char *buf = malloc(DISK_SMALL); /* the thread's: jobs in line hold none */
	int rc = h == NULL || buf == NULL ? -ENOMEM : -EAGAIN;

	for (int tries = 0; tries < HASH_TRIES && rc == -EAGAIN; tries++)
		rc = make_etag(f, h, buf);
	etag_hash_free(&h);
	free(buf);
	return rc;
}

static void etag_work(struct job *j)
{
	struct disk_file *f = disk_file_of(j);
	bool passing = f->fd < 0; /* without a place: open for as long as a thread needs it */

	f->result = passing ? disk_file_reopen(f, 0) : 0;
	if (f->result == 0)
		f->result = find_etag(f);
	if (!passing || f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
}

/* Whether file_id will be another one after every later write. */
static bool tells(const struct disk_file *f)
{
	return file_id_settled(&f->file_id, f->seen_ns) ||
	       (f->kind != BENEATH_REMOTE && file_id_tells(&f->file_id, f->seen_ns));
}

static void etag_finish(struct disk_file *f)
{
	COUNT(files_hashed, 1);
	if (f->result == -EAGAIN) {
		/* It is being written: served, but with nothing that promises bytes. */
		f->etag.n = 0;
		f->result = 0;
	}
	if (f->result == 0)
		etag_memo_put(f->disk->memo, &f->file_id, &f->etag, f->seen_ns, tells(f));
	f->fn(f, f->result);
}

/* Whether the file was left alone for many times as long as hashing takes: one that is appended to
 * now and then is not hashed each time. */
static bool is_quiet(const struct disk_file *f)
{
	int64_t quiet_s = (f->seen_ns - f->file_id.ctime_ns) / 1000000000;

	return file_id_settled(&f->file_id, f->seen_ns) &&
	       (uint64_t)quiet_s >= f->file_id.size / QUIET_BYTES;
}

int disk_file_etag(struct disk_file *f)
{
	struct disk *d = f->disk;

	if (etag_memo_get(d->memo, &f->file_id, &f->etag))
		return 0;
	f->etag.n = 0;
	if (f->fd >= 0 && f->file_id.size > d->max_file_size && is_quiet(f))
		hasher_ask(d->hasher, f->fd, &f->file_id, disk_file_class(f), f->tree->path);
	if (f->file_id.size > d->max_file_size ||
		etag_memo_restless(d->memo, &f->file_id, f->seen_ns))
		return 0;
	return disk_file_later(f, disk_file_class(f), etag_work, etag_finish);
}
