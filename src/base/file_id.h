/*
 * file_id: identifies a file and its state by device, inode, size and times, to remember content
 * by it and to detect a change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct file_id {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};

static inline struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec,
	};
}

static inline bool file_id_eq(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/*
 * True if the content is the same, for an open file. ctime does not count: a rename over its name,
 * a new link or a chmod changes it, and must not cut off readers of the old file.
 */
static inline bool file_id_same_content(const struct file_id *a, const struct file_id *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* True if the file has grown. mtime does not count: appending changes it, or happens within one
 * tick of it. */
static inline bool file_id_grew(const struct file_id *now, const struct file_id *before)
{
	return now->size > before->size;
}

/*
 * True if the time stamps show every later write. now_ns is CLOCK_REALTIME_COARSE, the clock of
 * file systems, read before id was: a further write in the tick of the last one (up to 10 ms, on
 * some file systems whole seconds) leaves the same stamps. Uses ctime, which no call can set.
 */
static inline bool file_id_tells(const struct file_id *id, int64_t now_ns)
{
	int64_t age = now_ns - id->ctime_ns, second = 1000000000;

	/* Far in the future: by another clock; new stamps are by this one. */
	return age > (id->ctime_ns % second == 0 ? 2 * second : 0) || age < -second;
}

/*
 * True: the file was read, at wall_ns, so long after its last change that its time stamps show
 * every later one, with any clock and granularity of the file system: the content may be remembered
 * by id. Uses ctime, as above.
 */
static inline bool file_id_settled(const struct file_id *id, int64_t wall_ns)
{
	return wall_ns - id->ctime_ns >= INT64_C(2000000000);
}

static inline int64_t file_id_ns(struct timespec t)
{
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Wall time by the clock of file systems. */
static inline int64_t file_id_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return file_id_ns(now);
}

static inline int64_t file_id_mtime(const struct file_id *id)
{
	int64_t s = id->mtime_ns / 1000000000;

	return id->mtime_ns % 1000000000 < 0 ? s - 1 : s;
}
