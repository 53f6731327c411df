/*
 * check_compress: what goes in comes out of the libraries' own decoders; caps, sizes, windows,
 * malloc(3) that fails (linked with --wrap), and that the same bytes become the same bytes. Without
 * a library its coding is refused.
 */
#include "http/compress.h"

#ifdef HAVE_BROTLIDEC
#include <brotli/decode.h>
#endif
#ifdef HAVE_ZSTD
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#endif
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "unit.h"

enum { LARGE = 384 << 10, SLACK = 4096 }; /* several blocks of each coding */

static char *memory(size_t n)
{
	char *p = calloc(1, n > 0 ? n : 1);

	ck_assert_ptr_nonnull(p);
	return p;
}

/* Text that compresses well, or bytes that do not at all. */
static char *make(size_t n, bool random)
{
	char *p = memory(n);
	uint64_t x = 88172645463325252u;

	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = random ? (char)x : "etaoin shrdlu\n<p>"[x % 17 & x >> 20];
	}
	return p;
}

/* How many bytes the library's decoder makes of n bytes; -1 if it finds them broken. */
static ssize_t decode(enum coding coding, const void *in, size_t n, void *out, size_t cap)
{
	switch (coding) {
#ifdef HAVE_BROTLIDEC
	case CODING_BR:
		if (BrotliDecoderDecompress(n, in, &cap, out) != BROTLI_DECODER_RESULT_SUCCESS)
			return -1;
		return (ssize_t)cap;
#endif
#ifdef HAVE_ZSTD
	case CODING_ZSTD:
		cap = ZSTD_decompress(out, cap, in, n);
		return ZSTD_isError(cap) ? -1 : (ssize_t)cap;
#endif
#ifdef HAVE_ZLIB
	case CODING_GZIP: {
		z_stream z = { .next_in = (Bytef *)(uintptr_t)in,
			.avail_in = (uInt)n,
			.next_out = out,
			.avail_out = (uInt)cap };
		int rc;

		ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
		rc = inflate(&z, Z_FINISH);
		inflateEnd(&z);
		return rc == Z_STREAM_END && z.avail_in == 0 ? (ssize_t)z.total_out : -1;
	}
#endif
	default:
		(void)in, (void)n, (void)out, (void)cap; /* no library, no use for them */
		return -1;
	}
}

static bool can_decode(enum coding coding)
{
#ifndef HAVE_BROTLIDEC
	if (coding == CODING_BR)
		return false;
#endif
	return compress_has(coding);
}

static void round_trip(enum coding coding, enum compress_effort effort, size_t n, bool random)
{
	size_t cap = n + n / 100 + SLACK;
	char *in = make(n, random), *out = memory(cap), *back = memory(n + 1);
	ssize_t wrote = compress_whole(coding, effort, in, n, out, cap);

	ck_assert_int_gt(wrote, 0);
	ck_assert_int_eq(decode(coding, out, (size_t)wrote, back, n + 1), (ssize_t)n);
	ck_assert(memcmp(in, back, n) == 0);
	if (random)
		ck_assert_int_ge(wrote, (ssize_t)n);
	else if (n > SLACK)
		ck_assert_int_lt(wrote, (ssize_t)(n / 2));
	free(in);
	free(out);
	free(back);
}

TEST_EACH(test_round_trip, CODINGS)
{
	static const size_t sizes[] = { 0, 1, 2, 15, 1008, 1009, 1024, 65537, LARGE };

	if (!can_decode((enum coding)_i))
		return;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (enum compress_effort e = COMPRESS_BEST; e <= COMPRESS_SOON; e++) {
			round_trip((enum coding)_i, e, sizes[i], false);
			round_trip((enum coding)_i, e, sizes[i], true);
		}
	}
}

/* Memory of just this size: a sanitizer sees the first byte too many. want: bytes of out, or 0. */
static void fits(enum coding c, const char *in, size_t n, size_t cap, const char *out, ssize_t want)
{
	char *small = memory(cap);

	ck_assert_int_eq(compress_whole(c, COMPRESS_BEST, in, n, small, cap), want);
	ck_assert_mem_eq(small, out, (size_t)want);
	free(small);
}

/* What does not fit says so and stays within its cap; what fits fits, and is twice the same. */
TEST_EACH(test_cap, CODINGS)
{
	enum { N = 20000 };
	char *in = make(N, false), *out = memory(N + SLACK);
	enum coding c = (enum coding)_i;

	if (compress_has(c)) {
		ssize_t wrote = compress_whole(c, COMPRESS_BEST, in, N, out, N + SLACK);

		ck_assert_int_gt(wrote, 100);
		for (size_t cap = 0; cap < (size_t)wrote; cap += 997)
			fits(c, in, N, cap, out, 0);
		fits(c, in, N, (size_t)wrote - 1, out, 0);
		fits(c, in, N, (size_t)wrote + 16, out, wrote);
		fits(c, in, N, N + SLACK, out, wrote);
	}
	free(in);
	free(out);
}

TEST(test_has)
{
	char text[32], out[64];

	ck_assert(!compress_has(CODING_IDENTITY));
	ck_assert(!compress_has(CODING_NONE));
	for (enum coding c = 0; c < CODINGS; c++) {
		ssize_t wrote = compress_whole(c, COMPRESS_BEST, "a", 1, out, sizeof(out));

		if (!compress_has(c)) {
			ck_assert_int_eq(wrote, -ENOTSUP);
			continue;
		}
		ck_assert_int_gt(wrote, 0);
		compress_library(c, text, sizeof(text));
		ck_assert_msg(strchr(text, ' ') != NULL && strchr(text, '.') != NULL, "%s", text);
		compress_library(c, text, 4);
		ck_assert_uint_eq(strlen(text), 3);
	}
#ifdef HAVE_BROTLI
	ck_assert(compress_has(CODING_BR));
#endif
#ifdef HAVE_ZSTD
	ck_assert(compress_has(CODING_ZSTD));
#endif
#ifdef HAVE_ZLIB
	ck_assert(compress_has(CODING_GZIP));
#endif
}

/* 8 MiB is what every client must be able to undo (RFC 9659, 3); a frame says how long it is. */
TEST(test_zstd_frame)
{
#ifdef HAVE_ZSTD
	enum { HUGE_SIZE = 12 << 20 };
	static const size_t sizes[] = { 1000, LARGE, HUGE_SIZE };
	char *in = calloc(1, HUGE_SIZE), *out = memory(HUGE_SIZE);

	ck_assert_ptr_nonnull(in);
	for (unsigned i = 0; i < 3; i++) {
		ssize_t wrote =
			compress_whole(CODING_ZSTD, COMPRESS_BEST, in, sizes[i], out, HUGE_SIZE);
		ZSTD_frameHeader head;

		ck_assert_int_gt(wrote, 0);
		ck_assert_uint_eq(ZSTD_getFrameHeader(&head, out, (size_t)wrote), 0);
		ck_assert_uint_eq(head.frameContentSize, sizes[i]);
		ck_assert_uint_le(head.windowSize, sizes[i] < 8 << 20 ? sizes[i] : 8 << 20);
		ck_assert_uint_eq(head.checksumFlag, 0);
		ck_assert_uint_eq(head.dictID, 0);
	}
	free(in);
	free(out);
#endif
}

/* RFC 1952, 2.3: deflate, no flags, no time, best compression, Unix. */
TEST(test_gzip_head)
{
#ifdef HAVE_ZLIB
	char out[64];

	ck_assert_int_gt(compress_whole(CODING_GZIP, COMPRESS_BEST, "a", 1, out, sizeof(out)), 10);
	ck_assert_mem_eq(out, "\x1f\x8b\x08\0\0\0\0\0\x02\x03", 10);
#endif
}

/* One piece, in the smallest rooms: until op is done. */
static void put(
	struct compressor *c, enum compress_op op, struct slice in, struct compress_room *out)
{
	int rc = 1;

	while (rc == 1) {
		struct compress_room room = { out->p, out->n < 16 ? out->n : 16 };
		size_t had = room.n;

		ck_assert_uint_gt(had, 0);
		rc = compressor_run(c, op, &in, &room);
		out->p = room.p;
		out->n -= had - room.n;
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(in.n, 0);
}

/* The bytes are the same in pieces, flushed or not; a flush makes bytes. */
TEST_EACH(test_pieces, CODINGS)
{
	enum { N = 100000, PIECE = 7777 };
	char *in = make(N, false), *out = memory(2 * N), *back = memory(N + 1);
	enum coding coding = (enum coding)_i;

	for (unsigned flush = 0; can_decode(coding) && flush < 2; flush++) {
		struct compressor *c = compressor_new(coding, COMPRESS_NOW, SIZE_MAX);
		struct compress_room room = { (uint8_t *)out, 2 * N };
		struct slice rest = slice_of(in, N);

		ck_assert_ptr_nonnull(c);
		while (rest.n > 0) {
			struct slice piece = slice_of(rest.p, rest.n < PIECE ? rest.n : PIECE);
			size_t left = room.n;

			put(c, flush ? COMPRESS_FLUSH : COMPRESS_MORE, piece, &room);
			ck_assert(!flush || room.n < left);
			slice_skip(&rest, piece.n);
		}
		put(c, COMPRESS_END, rest, &room);
		compressor_free(&c);
		compressor_free(&c);
		ck_assert_int_eq(decode(coding, out, 2 * N - room.n, back, N + 1), N);
		ck_assert(memcmp(in, back, N) == 0);
	}
	free(in);
	free(out);
	free(back);
}

TEST(test_worth)
{
	for (size_t n = 0; n < 10000; n++) {
		ck_assert_uint_le(compress_worth(n) * 20, n * 19);
		ck_assert_uint_gt((compress_worth(n) + 1) * 20, n * 19);
	}
}

static int fail_at; /* so many calls later, once */

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
	return fail_at > 0 && --fail_at == 0 ? NULL : __real_malloc(n);
}

/* libbrotlienc's own allocations end the process. */
TEST(test_memory_is_out)
{
#ifdef HAVE_BROTLI
	char *in = make(LARGE / 8, false), *out = memory(LARGE), *again = memory(LARGE);
	ssize_t whole = compress_whole(CODING_BR, COMPRESS_SOON, in, LARGE / 8, out, LARGE);
	ssize_t wrote = -ENOMEM;
	int n = 0;

	ck_assert_int_gt(whole, 0);
	while (wrote == -ENOMEM) {
		ck_assert_int_lt(n, 1000);
		fail_at = ++n;
		wrote = compress_whole(CODING_BR, COMPRESS_SOON, in, LARGE / 8, again, LARGE);
	}
	fail_at = 0;
	ck_assert_int_gt(n, 3);
	ck_assert_int_eq(wrote, whole);
	ck_assert_mem_eq(again, out, (size_t)whole);
	free(in);
	free(out);
	free(again);
#endif
}
