/*
 * file_id: identifies a file and its state by device, inode, size and times. Content hashes are
 * remembered by it, and readers compare it to see that a file changed under them. The keeper and
 * the workers call it; no function looks at the file system, and one at a clock.
 */
#ifndef H2D_BASE_FILE_ID_H
#define H2D_BASE_FILE_ID_H

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
 * Whether the content is the same, for a file that is held open. ctime does not count: replacing a
 * name by rename, a new link or a chmod moves that of the old file too, and must not cut off who
 * still reads it.
 */
static inline bool file_id_same_content(const struct file_id *a, const struct file_id *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* Whether the file has grown. mtime does not count: what appends moves it, or writes within one
 * tick of it. */
static inline bool file_id_grew(const struct file_id *now, const struct file_id *before)
{
	return now->size > before->size;
}

/*
 * Whether every write since would be seen in the time stamps. now_ns is CLOCK_REALTIME_COARSE,
 * which file systems stamp with, read before id was: a further write in the tick of the last one
 * (up to 10 ms, on some file systems whole seconds) leaves the same stamps. ctime, which no call
 * can set.
 */
static inline bool file_id_tells(const struct file_id *id, int64_t now_ns)
{
	int64_t age = now_ns - id->ctime_ns, second = 1000000000;

	/* Far in the future: stamped by another clock, and by this one from now on. */
	return age > (id->ctime_ns % second == 0 ? 2 * second : 0) || age < -second;
}

/*
 * True: the file was read, at wall_ns, so long after its last change that its time stamps tell
 * every later one, whatever clock and granularity the file system stamps with: what was read then
 * may be remembered by id. ctime, as above.
 */
static inline bool file_id_settled(const struct file_id *id, int64_t wall_ns)
{
	return wall_ns - id->ctime_ns >= INT64_C(2000000000);
}

static inline int64_t file_id_ns(struct timespec t)
{
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Wall time by the clock that file systems stamp with. */
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

#endif
