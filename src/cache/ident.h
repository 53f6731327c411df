/*
 * ident: which file, and which state of it: what a content hash is remembered by, and what tells that
 * a file changed while it was read. Pure.
 */
#ifndef H2D_CACHE_IDENT_H
#define H2D_CACHE_IDENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct ident {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};

static inline struct ident ident_of(const struct stat *st)
{
	return (struct ident){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * INT64_C(1000000000) + st->st_ctim.tv_nsec,
	};
}

static inline bool ident_eq(const struct ident *a, const struct ident *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/*
 * The same content, for a file that is held open. Without ctime: replacing a name by rename, a new
 * link or a chmod moves that of the old file too, and must not cut off who still reads it.
 */
static inline bool ident_same_content(const struct ident *a, const struct ident *b)
{
	return a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/*
 * Whether every write since would be seen in the time stamps. now_ns is CLOCK_REALTIME_COARSE, which
 * file systems stamp with, read before id was: a further write in the tick of the last one (up to 10 ms,
 * on some file systems whole seconds) leaves the same stamps. ctime, which no call can set.
 */
static inline bool ident_tells(const struct ident *id, int64_t now_ns)
{
	int64_t age = now_ns - id->ctime_ns, second = 1000000000;

	/* Far in the future: stamped by another clock, and by this one from now on. */
	return age > (id->ctime_ns % second == 0 ? 2 * second : 0) || age < -second;
}

static inline int64_t ident_mtime(const struct ident *id)
{
	int64_t s = id->mtime_ns / 1000000000;

	return id->mtime_ns % 1000000000 < 0 ? s - 1 : s;
}

#endif
