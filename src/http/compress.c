/*
 * compress: one function per library. The output depends on the bytes alone (no times, no names),
 * so that entity tags of variants are the same on every machine with these libraries.
 */
#include "http/compress.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "base/assert.h"

#ifdef HAVE_BROTLI
#include <brotli/encode.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/list.h"

enum { BROTLI_WINDOW_GAP = 16 }; /* a window is shorter by this (RFC 7932, 9.1) */

static const uint32_t brotli_quality[] = { [COMPRESS_BEST] = 11, [COMPRESS_SOON] = 5 };

/* The smallest window that spans n bytes: a larger one only costs memory on both sides. */
static uint32_t brotli_window(size_t n)
{
	uint32_t bits = BROTLI_MIN_WINDOW_BITS;

	while (bits < BROTLI_MAX_WINDOW_BITS && ((size_t)1 << bits) - BROTLI_WINDOW_GAP < n)
		bits++;
	return bits;
}

/*
 * The encoder ends the process when memory is out: libbrotlienc is built so (exit(3) behind each
 * allocation). So its allocations are made here, and a failed one leaves the encoder by longjmp(3);
 * this list frees the others.
 */
struct brotli_memory {
	struct list pieces;
	jmp_buf out;
};

struct brotli_piece {
	_Alignas(max_align_t) struct list node;
};

static void *brotli_alloc(void *opaque, size_t n)
{
	struct brotli_memory *m = opaque;
	struct brotli_piece *p = malloc(sizeof(*p) + n);

	if (p == NULL)
		longjmp(m->out, 1);
	list_append(&m->pieces, &p->node);
	return p + 1;
}

static void brotli_free(void *opaque, void *mem)
{
	struct brotli_piece *p = mem;

	(void)opaque;
	if (p == NULL)
		return;
	list_remove(&p[-1].node);
	free(p - 1);
}

static ssize_t brotli_encode(BrotliEncoderState *e, enum compress_effort effort, const uint8_t *in,
	size_t n, uint8_t *out, size_t cap)
{
	size_t room = cap, left = n;

	if (!BrotliEncoderSetParameter(e, BROTLI_PARAM_QUALITY, brotli_quality[effort]) ||
		!BrotliEncoderSetParameter(e, BROTLI_PARAM_LGWIN, brotli_window(n)) ||
		!BrotliEncoderSetParameter(
			e, BROTLI_PARAM_SIZE_HINT, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX) ||
		!BrotliEncoderCompressStream(
			e, BROTLI_OPERATION_FINISH, &left, &in, &room, &out, NULL))
		return -ENOMEM;
	return BrotliEncoderIsFinished(e) ? (ssize_t)(cap - room) : 0;
}

static ssize_t compress_brotli(
	enum compress_effort effort, const void *in, size_t n, void *out, size_t cap)
{
	struct brotli_memory m;
	BrotliEncoderState *e;
	ssize_t wrote;

	list_init(&m.pieces);
	if (setjmp(m.out) != 0) {
		while (!list_empty(&m.pieces))
			brotli_free(&m, LIST_ENTRY(m.pieces.next, struct brotli_piece, node) + 1);
		return -ENOMEM;
	}
	e = BrotliEncoderCreateInstance(brotli_alloc, brotli_free, &m);
	wrote = e != NULL ? brotli_encode(e, effort, in, n, out, cap) : -ENOMEM;
	BrotliEncoderDestroyInstance(e);
	return wrote;
}
#endif

#ifdef HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

enum { ZSTD_WINDOW_LOG = 23 /* 8 MiB, the most (RFC 9659, 3) */ };

static const int zstd_level[] = { [COMPRESS_BEST] = 19, [COMPRESS_SOON] = 6 };

static ssize_t compress_zstd(
	enum compress_effort effort, const void *in, size_t n, void *out, size_t cap)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	size_t rc;

	if (z == NULL)
		return -ENOMEM;
	rc = ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, zstd_level[effort]);
	if (!ZSTD_isError(rc))
		rc = ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, ZSTD_WINDOW_LOG);
	if (!ZSTD_isError(rc))
		rc = ZSTD_compress2(z, out, cap, in, n);
	ZSTD_freeCCtx(z);
	if (ZSTD_isError(rc))
		return ZSTD_getErrorCode(rc) == ZSTD_error_dstSize_tooSmall ? 0 : -ENOMEM;
	return (ssize_t)rc;
}
#endif

#ifdef HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>

/* zlib's own gzip header has no time and no name, and Unix as its system (RFC 1952, 2.3). */
enum { GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 9 };

static const int gzip_level[] = { [COMPRESS_BEST] = 9, [COMPRESS_SOON] = 6 };

static ssize_t compress_gzip(
	enum compress_effort effort, const void *in, size_t n, void *out, size_t cap)
{
	z_stream z = { .next_in = in,
		.avail_in = (uInt)n,
		.next_out = out,
		.avail_out = cap < UINT_MAX ? (uInt)cap : UINT_MAX };
	ssize_t wrote;

	H2D_ASSERT(n <= UINT_MAX);
	if (deflateInit2(&z, gzip_level[effort], Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	wrote = deflate(&z, Z_FINISH) == Z_STREAM_END ? (ssize_t)z.total_out : 0;
	deflateEnd(&z);
	return wrote;
}
#endif

static ssize_t (*const compressors[CODINGS])(
	enum compress_effort effort, const void *in, size_t n, void *out, size_t cap) = {
#ifdef HAVE_BROTLI
	[CODING_BR] = compress_brotli,
#endif
#ifdef HAVE_ZSTD
	[CODING_ZSTD] = compress_zstd,
#endif
#ifdef HAVE_ZLIB
	[CODING_GZIP] = compress_gzip,
#endif
};

bool compress_has(enum coding coding)
{
	return coding < CODINGS && compressors[coding] != NULL;
}

unsigned compress_built(void)
{
	unsigned set = 0;

	for (unsigned c = 0; c < CODINGS; c++)
		set |= (unsigned)compress_has(c) << c;
	return set;
}

void compress_library(enum coding coding, char *text, size_t size)
{
	H2D_ASSERT(compress_has(coding));
	(void)text, (void)size; /* without a library */
#ifdef HAVE_BROTLI
	uint32_t v = BrotliEncoderVersion();

	if (coding == CODING_BR)
		snprintf(text, size, "brotli %u.%u.%u", v >> 24, v >> 12 & 0xfff, v & 0xfff);
#endif
#ifdef HAVE_ZSTD
	if (coding == CODING_ZSTD)
		snprintf(text, size, "zstd %s", ZSTD_versionString());
#endif
#ifdef HAVE_ZLIB
	if (coding == CODING_GZIP)
		snprintf(text, size, "zlib %s", zlibVersion());
#endif
}

ssize_t compress_whole(enum coding coding, enum compress_effort effort, const void *in, size_t n,
	void *out, size_t cap)
{
	return compress_has(coding) ? compressors[coding](effort, in, n, out, cap) : -ENOTSUP;
}
