/*
 * disk_check: whether a file that is being sent still holds what its response announced. One that
 * only grows does; one that shrank, or was written to where it was, does not. Called by disk_body.c
 * behind each read; never opens anything. See disk.h.
 */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "files/disk.h"

enum { WAIT_TRIES = 20, WAIT_NS = 5000000 };

static int look_at_file(const struct disk_file *f, struct file_id *now)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	*now = file_id_of(&st);
	return 0;
}

int disk_file_check(struct disk_file *f)
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
 * A write(2) moves mtime first and the size when its bytes are there. In between an append looks as
 * an edit does, so its end is waited for.
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

	return disk_file_pread(f, bytes, s->n, s->at) == 0 && memcmp(bytes, s->bytes, s->n) == 0;
}

/*
 * A file that was emptied and written again may be longer than before, too. Where no bytes of it
 * are known there is its entity tag to tell it by, if that is of its content; without a strong one
 * nothing was promised.
 */
static bool is_the_same(struct disk_file *f)
{
	if (f->first.n > 0)
		return is_there(f, &f->first) && is_there(f, &f->last);
	if (f->etag.n == 0 || etag_is_weak(&f->etag))
		return true;
	return f->file_id.size <= f->disk->max_file_size && disk_file_has_etag(f);
}

int disk_file_check_closely(struct disk_file *f)
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

void disk_file_sample(struct disk_file *f, const char *bytes, size_t n, uint64_t at)
{
	size_t some = n < DISK_SAMPLE ? n : DISK_SAMPLE;

	if (f->first.n == 0)
		take_sample(&f->first, bytes, some, at);
	take_sample(&f->last, bytes + n - some, some, at + n - some);
}
