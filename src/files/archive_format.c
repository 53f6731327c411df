/*
 * archive_format: the parts of tar (POSIX.1-2001: ustar, with pax headers for long paths, large
 * sizes and times out of range) and zip (PKWARE's APPNOTE: stored, zip64 where needed, the CRC
 * behind the content). Pure. Its users are archive_list.c, for lengths, and archive.c, for bytes.
 */
#include "files/archive.h"

#include <inttypes.h>
#include <stdio.h>

#ifdef HAVE_ZLIB
#include <endian.h>
#include <time.h>
#include <zlib.h>

#include "base/utf8.h"
#endif

/* --- tar -------------------------------------------------------------------------------------- */

enum { TAR_BLOCK = 512, TAR_NAME = 100 };

#define TAR_NUMBER_MAX UINT64_C(077777777777) /* eleven digits */

static void zeros(struct strbuf *t, size_t n)
{
	static const char block[2 * TAR_BLOCK];

	strbuf_add(t, slice_of(block, n));
}

static void pad(struct strbuf *t, uint64_t size)
{
	zeros(t, (size_t)(-size % TAR_BLOCK));
}

/* A number of n digits. */
static void octal(char *to, unsigned n, uint64_t v)
{
	for (; n-- > 0; v /= 8)
		to[n] = (char)('0' + v % 8);
}

static void tar_block(struct strbuf *t, struct slice path, char type, uint64_t size, int64_t mtime)
{
	char block[TAR_BLOCK] = { 0 };
	unsigned sum = 0;

	memcpy(block, path.p, path.n < TAR_NAME ? path.n : TAR_NAME);
	octal(block + 100, 7, type == '5' ? 0755 : 0644);
	octal(block + 108, 7, 0);
	octal(block + 116, 7, 0);
	octal(block + 124, 11, size);
	octal(block + 136, 11, (uint64_t)mtime);
	memset(block + 148, ' ', 8);
	block[156] = type;
	memcpy(block + 257, "ustar\00000", 8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)block[i];
	octal(block + 148, 6, sum);
	block[154] = '\0';
	strbuf_add(t, slice_of(block, TAR_BLOCK));
}

/* "N key=value\n": N is the length of all, N itself included. */
static void pax_record(struct strbuf *t, const char *key, struct slice value)
{
	size_t rest = strlen(key) + value.n + 3, n, next = rest;

	do {
		n = next;
		next = rest + (size_t)snprintf(NULL, 0, "%zu", n);
	} while (next != n);
	strbuf_printf(t, "%zu %s=", n, key);
	strbuf_add(t, value);
	strbuf_add(t, SLICE("\n"));
}

static void pax_number(struct strbuf *t, const char *key, int64_t v)
{
	char text[24];

	pax_record(t, key, slice_of(text, (size_t)snprintf(text, sizeof(text), "%" PRId64, v)));
}

static void tar_head(struct strbuf *t, const struct archive_member *m)
{
	bool dir = m->path.p[m->path.n - 1] == '/', large = m->size > TAR_NUMBER_MAX;
	bool timely = m->mtime >= 0 && (uint64_t)m->mtime <= TAR_NUMBER_MAX;
	struct strbuf pax = { 0 };

	if (m->path.n > TAR_NAME)
		pax_record(&pax, "path", m->path);
	if (large)
		pax_number(&pax, "size", (int64_t)m->size);
	if (!timely)
		pax_number(&pax, "mtime", m->mtime);
	if (pax.n > 0) {
		tar_block(t, SLICE("pax"), 'x', pax.n, 0);
		strbuf_add(t, slice_of(pax.p, pax.n));
		pad(t, pax.n);
	}
	tar_block(t, m->path, dir ? '5' : '0', large ? 0 : m->size, timely ? m->mtime : 0);
	t->failed |= pax.failed;
	strbuf_fini(&pax);
}

static void tar_tail(struct strbuf *t, const struct archive_member *m)
{
	pad(t, m->size);
}

static void tar_end(struct strbuf *t, const struct archive_end *e)
{
	(void)e;
	zeros(t, 2 * TAR_BLOCK);
}

/* --- zip -------------------------------------------------------------------------------------- */

#ifdef HAVE_ZLIB
enum {
	ZIP_DESCRIBED = 1 << 3, /* the CRC and the sizes are behind the content */
	ZIP_UTF8 = 1 << 11,
	ZIP_TIME = 0x5455,
	ZIP_TIME_SIZE = 9,
	ZIP_UNIX = 3 << 8,
};

/* Little-endian. A number beyond n bytes is all ones, and elsewhere. */
static void put(struct strbuf *t, unsigned n, uint64_t v)
{
	uint64_t most = UINT64_MAX >> (64 - 8 * n);

	v = htole64(v < most ? v : most);
	strbuf_add(t, slice_of(&v, n));
}

/* Sizes are there packed and unpacked, numbers of members for this disk and for all. */
static void put_twice(struct strbuf *t, unsigned n, uint64_t v)
{
	put(t, n, v);
	put(t, n, v);
}

static bool is_large(uint64_t v)
{
	return v >= UINT32_MAX;
}

/* UTC, in steps of two seconds, from 1980 to 2107. */
static uint64_t dos_time(int64_t mtime)
{
	time_t at = mtime;
	struct tm tm;

	if (gmtime_r(&at, &tm) == NULL || tm.tm_year < 80)
		return 1 << 21 | 1 << 16;
	if (tm.tm_year > 207)
		return UINT64_C(127) << 25 | 12 << 21 | 31 << 16 | 23 << 11 | 59 << 5 | 29;
	return (uint64_t)(tm.tm_year - 80) << 25 | (uint64_t)(tm.tm_mon + 1) << 21 |
	       (uint64_t)tm.tm_mday << 16 | (uint64_t)tm.tm_hour << 11 | (uint64_t)tm.tm_min << 5 |
	       (uint64_t)tm.tm_sec / 2;
}

/* The common part of a head and an entry of the index: up to the CRC. */
static void zip_version(struct strbuf *t, const struct archive_member *m, bool large)
{
	put(t, 2, large ? 45 : 20);
	put(t, 2, (m->size > 0 ? ZIP_DESCRIBED : 0) | (utf8_whole(m->path) ? ZIP_UTF8 : 0));
	put(t, 2, 0); /* stored */
	put(t, 4, dos_time(m->mtime));
}

static void zip_time(struct strbuf *t, int64_t mtime)
{
	put(t, 2, ZIP_TIME);
	put(t, 2, 5);
	put(t, 1, 1); /* mtime */
	put(t, 4,
		(uint32_t)(mtime > INT32_MAX   ? INT32_MAX
			   : mtime < INT32_MIN ? INT32_MIN
					       : mtime));
}

static void zip_head(struct strbuf *t, const struct archive_member *m)
{
	bool large = is_large(m->size);

	put(t, 4, 0x04034b50);
	zip_version(t, m, large);
	put(t, 4, 0);
	put_twice(t, 4, large ? UINT32_MAX : 0);
	put(t, 2, m->path.n);
	put(t, 2, ZIP_TIME_SIZE + (large ? 20 : 0));
	strbuf_add(t, m->path);
	zip_time(t, m->mtime);
	if (large) {
		put(t, 2, 1);
		put(t, 2, 16);
		put_twice(t, 8, 0);
	}
}

static void zip_tail(struct strbuf *t, const struct archive_member *m)
{
	if (m->size == 0)
		return;
	put(t, 4, 0x08074b50);
	put(t, 4, m->crc);
	put_twice(t, is_large(m->size) ? 8 : 4, m->size);
}

static void zip_index(struct strbuf *t, const struct archive_member *m)
{
	bool dir = m->path.p[m->path.n - 1] == '/';
	unsigned more = (is_large(m->size) ? 16 : 0) + (is_large(m->at) ? 8 : 0);

	put(t, 4, 0x02014b50);
	put(t, 2, ZIP_UNIX | 45);
	zip_version(t, m, more > 0);
	put(t, 4, m->crc);
	put_twice(t, 4, m->size);
	put(t, 2, m->path.n);
	put(t, 2, ZIP_TIME_SIZE + (more > 0 ? more + 4 : 0));
	put(t, 2, 0); /* comment */
	put(t, 4, 0); /* number of the disk; kind of content */
	put(t, 4, dir ? UINT64_C(040755) << 16 | 0x10 : UINT64_C(0100644) << 16);
	put(t, 4, m->at);
	strbuf_add(t, m->path);
	zip_time(t, m->mtime);
	if (more > 0) {
		put(t, 2, 1);
		put(t, 2, more);
	}
	if (is_large(m->size))
		put_twice(t, 8, m->size);
	if (is_large(m->at))
		put(t, 8, m->at);
}

static void zip_end(struct strbuf *t, const struct archive_end *e)
{
	uint64_t n = e->at - e->index_at;
	char comment[32] = "";

	if (e->left_out > 0)
		snprintf(comment, sizeof(comment), "archive-left-out: %u", e->left_out);
	if (e->members >= UINT16_MAX || is_large(n) || is_large(e->index_at)) {
		put(t, 4, 0x06064b50);
		put(t, 8, 44);
		put(t, 2, ZIP_UNIX | 45);
		put(t, 2, 45);
		put(t, 8, 0); /* disks */
		put_twice(t, 8, e->members);
		put(t, 8, n);
		put(t, 8, e->index_at);
		put(t, 4, 0x07064b50);
		put(t, 4, 0);
		put(t, 8, e->at);
		put(t, 4, 1);
	}
	put(t, 4, 0x06054b50);
	put(t, 4, 0); /* disks */
	put_twice(t, 2, e->members);
	put(t, 4, n);
	put(t, 4, e->index_at);
	put(t, 2, strlen(comment));
	strbuf_add(t, slice_str(comment));
}
#endif

const struct archive_format archive_formats[ARCHIVE_KINDS] = {
	[ARCHIVE_TAR] = {
		.name = SLICE_LIT("tar"),
		.type = SLICE_LIT("application/x-tar"),
		.head = tar_head,
		.tail = tar_tail,
		.end = tar_end,
	},
#ifdef HAVE_ZLIB
	[ARCHIVE_ZIP] = {
		.name = SLICE_LIT("zip"),
		.type = SLICE_LIT("application/zip"),
		.head = zip_head,
		.tail = zip_tail,
		.index = zip_index,
		.end = zip_end,
		.sum = crc32,
	},
#endif
};

enum archive_kind archive_kind_of(struct slice name)
{
	enum archive_kind kind = ARCHIVE_KINDS;

	while (--kind > ARCHIVE_NONE && !slice_eq(archive_formats[kind].name, name))
		;
	return kind;
}

enum archive_kind archive_kind_asked(struct slice query)
{
	struct slice pair, key = SLICE("archive=");
	enum archive_kind kind = ARCHIVE_NONE;

	while (query.n > 0) {
		slice_cut(&query, '&', &pair);
		if (slice_starts(pair, key))
			kind = archive_kind_of(slice_of(pair.p + key.n, pair.n - key.n));
	}
	return kind;
}
