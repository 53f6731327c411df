/*
 * check_archive_format: the parts of tar and zip, byte by byte where programs look: numbers that
 * are too large for their place, names, sums. That other programs read whole archives is
 * test_59_archive.py's.
 */
#include "files/archive.h"

#include "unit.h"

#define GIB (UINT64_C(1) << 30)

static struct strbuf t;

UNIT_TEARDOWN(teardown)
{
	strbuf_fini(&t);
}

static struct archive_member file(const char *path, uint64_t size)
{
	return (struct archive_member){ .path = slice_str(path), .size = size, .mtime = 784111777 };
}

static void is_text(size_t at, const char *text)
{
	ck_assert_uint_le(at + strlen(text), t.n);
	ck_assert_mem_eq(t.p + at, text, strlen(text));
}

TEST(names)
{
	ck_assert_int_eq(archive_kind_of(SLICE("tar")), ARCHIVE_TAR);
	ck_assert_int_eq(archive_kind_of(SLICE("rar")), ARCHIVE_NONE);
	ck_assert_int_eq(archive_kind_of(SLICE("")), ARCHIVE_NONE);
	ck_assert(slice_eq(archive_top(SLICE("/a/b/")), SLICE("b/")));
	ck_assert(slice_eq(archive_top(SLICE("/a/")), SLICE("a/")));
	ck_assert(slice_eq(archive_top(SLICE("/")), SLICE("files/")));
}

static void check_sum(size_t at)
{
	unsigned sum = 8 * ' ', told;

	for (size_t i = 0; i < 512; i++)
		sum += i < 148 || i >= 156 ? (unsigned char)t.p[at + i] : 0;
	ck_assert_int_eq(sscanf(t.p + at + 148, "%o", &told), 1);
	ck_assert_uint_eq(told, sum);
}

TEST(tar_of_a_file)
{
	struct archive_member m = file("d/f", 0777);

	archive_formats[ARCHIVE_TAR].head(&t, &m);
	ck_assert_uint_eq(t.n, 512);
	is_text(0, "d/f");
	is_text(100, "0000644");
	is_text(124, "00000000777");
	is_text(136, "05657114241");
	ck_assert_int_eq(t.p[156], '0');
	ck_assert_mem_eq(t.p + 257,
		"ustar\0"
		"00",
		8);
	check_sum(0);
	archive_formats[ARCHIVE_TAR].tail(&t, &m);
	ck_assert_uint_eq(t.n, 512 + 1);
	m.size = 1024;
	archive_formats[ARCHIVE_TAR].tail(&t, &m);
	ck_assert_uint_eq(t.n, 512 + 1);
	archive_formats[ARCHIVE_TAR].end(&t, &(struct archive_end){ 0 });
	ck_assert_uint_eq(t.n, 512 + 1 + 1024);
}

TEST(tar_beyond_ustar)
{
	char path[201] = { 0 };
	struct archive_member m;

	memset(path, 'x', 200);
	m = file(path, 8 * GIB);
	m.mtime = -1;
	archive_formats[ARCHIVE_TAR].head(&t, &m);
	ck_assert_uint_eq(t.n, 3 * 512);
	ck_assert_int_eq(t.p[156], 'x');
	check_sum(0);
	is_text(512, "210 path=xxx");
	is_text(512 + 209, "\n19 size=8589934592\n12 mtime=-1\n");
	is_text(124, "00000000361"); /* 210 + 19 + 12 */
	is_text(1024, "xxx");
	is_text(1024 + 124, "00000000000");
	check_sum(1024);
}

/* What a record counts is its own length, too, whose digits may be one more for it. */
TEST(tar_records_count_themselves)
{
	for (size_t n = 101; n < 1200; n++) {
		char *path = calloc(1, n + 1);
		struct archive_member m;
		unsigned length;

		memset(path, 'y', n);
		m = file(path, 0);
		t.n = 0;
		archive_formats[ARCHIVE_TAR].head(&t, &m);
		ck_assert_int_eq(sscanf(t.p + 512, "%u", &length), 1);
		ck_assert_int_eq(t.p[512 + length - 1], '\n');
		ck_assert_int_eq(t.p[512 + length - 2], 'y');
		ck_assert(length % 512 == 0 || t.p[512 + length] == '\0');
		free(path);
	}
}

#ifdef HAVE_ZLIB
/* The little-endian number of n bytes at that place. */
static uint64_t number(size_t at, unsigned n)
{
	uint64_t v = 0;

	ck_assert_uint_le(at + n, t.n);
	while (n-- > 0)
		v = v << 8 | (unsigned char)t.p[at + n];
	return v;
}

TEST(zip_of_a_file)
{
	const struct archive_format *f = &archive_formats[ARCHIVE_ZIP];
	struct archive_member m = file("d/f", 5);

	ck_assert_int_eq(archive_kind_of(SLICE("zip")), ARCHIVE_ZIP);
	ck_assert_uint_eq(f->sum(0, (const unsigned char *)"123456789", 9), 0xcbf43926);
	m.crc = 0x12345678;
	m.at = 99;
	f->head(&t, &m);
	ck_assert_uint_eq(number(0, 4), 0x04034b50);
	ck_assert_uint_eq(number(4, 2), 20);
	ck_assert_uint_eq(number(6, 2), 0x808); /* descriptor, UTF-8 */
	ck_assert_uint_eq(
		number(10, 4), (14u << 25) | (11 << 21) | (6 << 16) | (8 << 11) | (49 << 5) | 18);
	ck_assert_uint_eq(number(14, 8), 0);
	ck_assert_uint_eq(number(26, 2), 3);
	ck_assert_uint_eq(t.n, 30 + 3 + number(28, 2));
	is_text(30, "d/f");
	ck_assert_uint_eq(number(33, 4), 0x00055455);
	ck_assert_uint_eq(number(38, 4), 784111777);
	t.n = 0;
	f->tail(&t, &m);
	ck_assert_uint_eq(t.n, 16);
	ck_assert_uint_eq(number(4, 4), 0x12345678);
	ck_assert_uint_eq(number(12, 4), 5);
	t.n = 0;
	f->index(&t, &m);
	ck_assert_uint_eq(t.n, 46 + 3 + 9);
	ck_assert_uint_eq(number(16, 4), 0x12345678);
	ck_assert_uint_eq(number(24, 4), 5);
	ck_assert_uint_eq(number(38, 4), 0100644u << 16);
	ck_assert_uint_eq(number(42, 4), 99);
	t.n = 0;
	f->end(&t, &(struct archive_end){ .members = 2, .index_at = 100, .at = 150 });
	ck_assert_uint_eq(t.n, 22);
	ck_assert_uint_eq(number(10, 2), 2);
	ck_assert_uint_eq(number(12, 4), 50);
	ck_assert_uint_eq(number(16, 4), 100);
}

TEST(zip_of_nothing)
{
	const struct archive_format *f = &archive_formats[ARCHIVE_ZIP];
	struct archive_member empty = file("caf\xe9", 0), dir = file("d/", 0);

	f->head(&t, &empty);
	ck_assert_uint_eq(number(6, 2), 0);
	f->tail(&t, &empty);
	ck_assert_uint_eq(t.n, 30 + 4 + 9);
	t.n = 0;
	f->index(&t, &dir);
	ck_assert_uint_eq(number(38, 4), 040755u << 16 | 0x10);
}

TEST(zip64)
{
	const struct archive_format *f = &archive_formats[ARCHIVE_ZIP];
	struct archive_member m = file("f", UINT32_MAX);

	m.at = 5 * GIB;
	f->head(&t, &m);
	ck_assert_uint_eq(number(4, 2), 45);
	ck_assert_uint_eq(number(18, 8), UINT64_MAX);
	ck_assert_uint_eq(t.n, 30 + 1 + number(28, 2));
	ck_assert_uint_eq(number(40, 4), 0x00100001);
	t.n = 0;
	f->tail(&t, &m);
	ck_assert_uint_eq(t.n, 24);
	ck_assert_uint_eq(number(8, 8), UINT32_MAX);
	t.n = 0;
	f->index(&t, &m);
	ck_assert_uint_eq(number(20, 8), UINT64_MAX);
	ck_assert_uint_eq(number(42, 4), UINT32_MAX);
	ck_assert_uint_eq(t.n, 46 + 1 + number(30, 2));
	ck_assert_uint_eq(number(46 + 1 + 9, 4), 0x00180001);
	ck_assert_uint_eq(number(46 + 1 + 9 + 4, 8), UINT32_MAX);
	ck_assert_uint_eq(number(46 + 1 + 9 + 20, 8), 5 * GIB);
	m.size = UINT32_MAX - 1;
	t.n = 0;
	f->index(&t, &m);
	ck_assert_uint_eq(number(20, 4), UINT32_MAX - 1);
	ck_assert_uint_eq(number(46 + 1 + 9, 4), 0x00080001);
	t.n = 0;
	f->end(&t,
		&(struct archive_end){ .members = 65535, .index_at = 10, .at = 20, .left_out = 3 });
	ck_assert_uint_eq(number(0, 4), 0x06064b50);
	ck_assert_uint_eq(number(32, 8), 65535);
	ck_assert_uint_eq(number(40, 8), 10);
	ck_assert_uint_eq(number(48, 8), 10);
	ck_assert_uint_eq(number(56, 4), 0x07064b50);
	ck_assert_uint_eq(number(64, 8), 20);
	ck_assert_uint_eq(number(76, 4), 0x06054b50);
	ck_assert_uint_eq(number(76 + 10, 2), 65535);
	ck_assert_uint_eq(number(76 + 20, 2), 19);
	is_text(76 + 22, "archive-left-out: 3");
}

/* Times that the format lacks are the nearest that it has. */
TEST(zip_times)
{
	const struct archive_format *f = &archive_formats[ARCHIVE_ZIP];
	struct archive_member m = file("f", 0);

	m.mtime = INT64_MIN;
	f->head(&t, &m);
	ck_assert_uint_eq(number(10, 4), 1 << 21 | 1 << 16);
	ck_assert_uint_eq(number(31 + 5, 4), 0x80000000);
	m.mtime = INT64_C(1) << 40;
	t.n = 0;
	f->head(&t, &m);
	ck_assert_uint_eq(number(12, 2), 127 << 9 | 12 << 5 | 31);
	ck_assert_uint_eq(number(31 + 5, 4), INT32_MAX);
}
#endif
