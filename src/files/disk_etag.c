/*
 * disk_etag: the entity tag of an open file. A file short enough for an image gets that of its
 * content, hashed in a thread unless it is remembered; a longer one is not read. A file is hashed
 * once it is settled: from then on every write changes the time stamps, so that the sent pieces,
 * each checked by them, are of the hashed content. A file that keeps changing has no tag. See
 * disk.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "files/disk.h"

enum {
	TAG_SETS = 512,
	TAG_WAYS = 4,
	YOUNG_MS = 2000, /* how long the tag of a young file is remembered */
	SETTLE_TRIES = 4,
	SETTLE_NS = 5000000,
};

#define YOUNG_NS INT64_C(60000000000) /* a file is young so long after its last change */

struct disk_tag {
	struct file_id id;
	struct etag etag;
	uint64_t until_ms; /* 0: not remembered */
};

/* --- remembered tags -------------------------------------------------------------------------- */

/* NULL: memory is out. */
static struct disk_tag *set_of(struct disk *d, const struct file_id *id)
{
	uint64_t h = (id->ino * 31 + id->dev) * UINT64_C(0x9e3779b97f4a7c15);

	if (d->tags == NULL)
		d->tags = calloc(TAG_SETS * TAG_WAYS, sizeof(*d->tags));
	return d->tags != NULL ? &d->tags[(h >> 32) % TAG_SETS * TAG_WAYS] : NULL;
}

static bool recall_tag(struct disk *d, const struct file_id *id, struct etag *e)
{
	const struct disk_tag *set = set_of(d, id);

	for (unsigned i = 0; set != NULL && i < TAG_WAYS; i++) {
		if (!file_id_eq(&set[i].id, id) || clock_ms() >= set[i].until_ms)
			continue;
		*e = set[i].etag;
		return true;
	}
	return false;
}

/* A young file's stamps may be of a write(2) under way, so they are trusted briefly; another
 * machine's clock may have set them, too. */
static void remember_tag(struct disk_file *f)
{
	struct disk *d = f->disk;
	struct disk_tag *set = set_of(d, &f->file_id);
	bool young = f->seen_ns - f->file_id.ctime_ns < YOUNG_NS;

	if (set == NULL || (f->kind == BENEATH_REMOTE && !file_id_settled(&f->file_id, f->seen_ns)))
		return;
	set[d->next_tag++ % TAG_WAYS] = (struct disk_tag){ f->file_id, f->etag,
		young ? clock_ms() + YOUNG_MS : UINT64_MAX };
}

/* --- in a thread ------------------------------------------------------------------------------ */

/* Updates f->file_id. 0; -EAGAIN: another file; -errno. */
static int look_again(struct disk_file *f)
{
	struct file_id before = f->file_id;
	struct stat st;

	f->seen_ns = file_id_clock_ns();
	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->file_id = file_id_of(&st);
	return file_id_eq(&before, &f->file_id) ? 0 : -EAGAIN;
}

/* Waits until f->file_id would show the next write: a tick after the last one. 0; -EAGAIN: it keeps
 * changing; -errno. */
static int settle_file(struct disk_file *f)
{
	int rc = 0;

	for (int tries = 0; rc == 0 && !file_id_tells(&f->file_id, f->seen_ns); tries++) {
		if (tries == SETTLE_TRIES)
			return -EAGAIN;
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_NS }, NULL);
		rc = look_again(f);
	}
	return rc;
}

void disk_tag_run(struct job *j)
{
	struct disk_file *f = disk_file_of(j);
	bool passing = f->fd < 0; /* without a place: open only while a thread needs it */

	f->result = passing ? disk_file_reopen(f, 0) : 0;
	if (f->result == 0)
		f->result = settle_file(f);
	if (f->result == 0)
		f->result = etag_of_fd(f->fd, f->file_id.size, &f->etag);
	if (f->result == 0)
		f->result = look_again(f);
	if (!passing || f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
}

/* --- on the loop ------------------------------------------------------------------------------ */

void disk_tag_then(struct disk_file *f)
{
	COUNT(files_hashed, 1);
	if (f->result == 0)
		remember_tag(f);
	if (f->result == -EAGAIN) {
		/* A file being written is served, but without promises about bytes. */
		f->etag.n = 0;
		f->result = 0;
	}
	f->tagged(f, f->result);
}

int disk_file_etag(struct disk_file *f)
{
	struct disk *d = f->disk;

	if (f->file_id.size > d->max_file_size) {
		etag_of_file(&f->file_id, f->seen_ns,
			f->coding < CODINGS ? coding_names[f->coding] : SLICE(""), &f->etag);
		return 0;
	}
	if (recall_tag(d, &f->file_id, &f->etag))
		return 0;
	f->etag.n = 0;
	return disk_file_submit(f, DISK_TAG, disk_file_class(f));
}
