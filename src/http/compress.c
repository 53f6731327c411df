/*
 * compress: one function per library. The output depends on the bytes alone (no times, no names),
 * so that entity tags of variants are the same on every machine with these libraries.
 */
#include "http/compress.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

#ifdef HAVE_BROTLI
#include <brotli/encode.h>
#include <setjmp.h>
#include <stddef.h>

#include "base/list.h"
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif

/* Levels of the libraries. */
static const struct {
	int br, zstd, gzip;
} levels[] = {
	[COMPRESS_BEST] = { 11, 19, 9 },
	[COMPRESS_SOON] = { 5, 6, 6 },
	[COMPRESS_NOW] = { 4, 3, 5 },
};

enum { NOW_WINDOW_BITS = 17 /* of br and zstd: 1.8 MiB of memory */ };

struct compressor {
	const struct compress_library *library;
	union {
#ifdef HAVE_BROTLI
		struct {
			BrotliEncoderState *state;
			struct list pieces; /* see brotli_alloc() */
			jmp_buf out;
		} br;
#endif
#ifdef HAVE_ZSTD
		ZSTD_CCtx *zstd;
#endif
#ifdef HAVE_ZLIB
		z_stream gzip;
#endif
	};
};

/* begin() and run() return as compressor_run() does; end() follows a begin() that returned 0. */
struct compress_library {
	int (*begin)(struct compressor *c, enum compress_effort effort, size_t n);
	int (*run)(struct compressor *c, enum compress_op op, struct slice *in,
		struct compress_room *out);
	void (*end)(struct compressor *c);
};

#ifdef HAVE_BROTLI
enum { BROTLI_WINDOW_GAP = 16 }; /* a window is shorter by this (RFC 7932, 9.1) */

/* The smallest window that spans n bytes: a larger one only costs memory on both sides. */
static uint32_t brotli_window(enum compress_effort effort, size_t n)
{
	uint32_t bits = BROTLI_MIN_WINDOW_BITS;
	uint32_t most = effort == COMPRESS_NOW ? NOW_WINDOW_BITS : BROTLI_MAX_WINDOW_BITS;

	while (bits < most && ((size_t)1 << bits) - BROTLI_WINDOW_GAP < n)
		bits++;
	return bits;
}

/*
 * The encoder ends the process when memory is out: libbrotlienc is built so (exit(3) behind each
 * allocation). So its allocations are made here, and a failed one leaves the encoder by longjmp(3);
 * the list frees the others.
 */
struct brotli_piece {
	_Alignas(max_align_t) struct list node;
};

static void *brotli_alloc(void *opaque, size_t n)
{
	struct compressor *c = opaque;
	struct brotli_piece *p = malloc(sizeof(*p) + n);

	if (p == NULL)
		longjmp(c->br.out, 1);
	list_append(&c->br.pieces, &p->node);
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

/* The encoder is not asked: its memory is all in the list. */
static void brotli_end(struct compressor *c)
{
	while (!list_empty(&c->br.pieces))
		brotli_free(c, LIST_ENTRY(c->br.pieces.next, struct brotli_piece, node) + 1);
}

static int brotli_begin(struct compressor *c, enum compress_effort effort, size_t n)
{
	BrotliEncoderState *e;

	list_init(&c->br.pieces);
	if (setjmp(c->br.out) != 0) {
		brotli_end(c);
		return -ENOMEM;
	}
	e = BrotliEncoderCreateInstance(brotli_alloc, brotli_free, c);
	c->br.state = e;
	BrotliEncoderSetParameter(e, BROTLI_PARAM_QUALITY, (uint32_t)levels[effort].br);
	BrotliEncoderSetParameter(e, BROTLI_PARAM_LGWIN, brotli_window(effort, n));
	if (effort != COMPRESS_NOW) /* a hint of 1 MiB takes tables of 4 MiB */
		BrotliEncoderSetParameter(
			e, BROTLI_PARAM_SIZE_HINT, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
	return 0;
}

static int brotli_run(
	struct compressor *c, enum compress_op op, struct slice *in, struct compress_room *out)
{
	static const BrotliEncoderOperation ops[] = { BROTLI_OPERATION_PROCESS,
		BROTLI_OPERATION_FLUSH, BROTLI_OPERATION_FINISH };
	BrotliEncoderState *e = c->br.state;
	const uint8_t *p = (const uint8_t *)in->p;
	size_t n = in->n;

	if (setjmp(c->br.out) != 0 ||
		!BrotliEncoderCompressStream(e, ops[op], &n, &p, &out->n, &out->p, NULL))
		return -ENOMEM;
	slice_skip(in, in->n - n);
	return in->n > 0 || BrotliEncoderHasMoreOutput(e);
}

static const struct compress_library brotli = { brotli_begin, brotli_run, brotli_end };
#endif

#ifdef HAVE_ZSTD
enum { ZSTD_WINDOW_LOG = 23 /* 8 MiB, the most (RFC 9659, 3) */ };

static void zstd_end(struct compressor *c)
{
	ZSTD_freeCCtx(c->zstd);
}

static int zstd_begin(struct compressor *c, enum compress_effort effort, size_t n)
{
	int window = effort == COMPRESS_NOW ? NOW_WINDOW_BITS : ZSTD_WINDOW_LOG;

	(void)n; /* zstd learns it from a first call that is the last */
	c->zstd = ZSTD_createCCtx();
	if (c->zstd == NULL)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, levels[effort].zstd);
	ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_windowLog, window);
	return 0;
}

static int zstd_run(
	struct compressor *c, enum compress_op op, struct slice *in, struct compress_room *room)
{
	static const ZSTD_EndDirective ops[] = { ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end };
	ZSTD_inBuffer from = { in->p, in->n, 0 };
	ZSTD_outBuffer to = { room->p, room->n, 0 };
	size_t rc = ZSTD_compressStream2(c->zstd, &to, &from, ops[op]);

	if (ZSTD_isError(rc))
		return -ENOMEM;
	slice_skip(in, from.pos);
	room->p += to.pos;
	room->n -= to.pos;
	return op == COMPRESS_MORE ? in->n > 0 : rc > 0;
}

static const struct compress_library zstd = { zstd_begin, zstd_run, zstd_end };
#endif

#ifdef HAVE_ZLIB
/* zlib's own gzip header has no time and no name, and Unix as its system (RFC 1952, 2.3). */
enum { GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 9 };

static int gzip_begin(struct compressor *c, enum compress_effort effort, size_t n)
{
	(void)n;
	c->gzip = (z_stream){ 0 };
	return deflateInit2(&c->gzip, levels[effort].gzip, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
		       Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

static int gzip_run(
	struct compressor *c, enum compress_op op, struct slice *in, struct compress_room *out)
{
	static const int ops[] = { Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH };
	z_stream *z = &c->gzip;
	int rc;

	H2D_ASSERT(in->n <= UINT_MAX);
	z->next_in = (const uint8_t *)in->p;
	z->avail_in = (uInt)in->n;
	z->next_out = out->p;
	z->avail_out = out->n < UINT_MAX ? (uInt)out->n : UINT_MAX;
	rc = deflate(z, ops[op]);
	slice_skip(in, in->n - z->avail_in);
	out->n -= (size_t)(z->next_out - out->p);
	out->p = z->next_out;
	return op == COMPRESS_END ? rc != Z_STREAM_END : z->avail_out == 0;
}

static void gzip_end(struct compressor *c)
{
	deflateEnd(&c->gzip);
}

static const struct compress_library gzip = { gzip_begin, gzip_run, gzip_end };
#endif

static const struct compress_library *const libraries[CODINGS] = {
#ifdef HAVE_BROTLI
	[CODING_BR] = &brotli,
#endif
#ifdef HAVE_ZSTD
	[CODING_ZSTD] = &zstd,
#endif
#ifdef HAVE_ZLIB
	[CODING_GZIP] = &gzip,
#endif
};

bool compress_has(enum coding coding)
{
	return coding < CODINGS && libraries[coding] != NULL;
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

struct compressor *compressor_new(enum coding coding, enum compress_effort effort, size_t n)
{
	struct compressor *c = malloc(sizeof(*c));

	H2D_ASSERT(compress_has(coding));
	if (c == NULL)
		return NULL;
	c->library = libraries[coding];
	if (c->library->begin(c, effort, n) < 0) {
		free(c);
		return NULL;
	}
	return c;
}

int compressor_run(
	struct compressor *c, enum compress_op op, struct slice *in, struct compress_room *out)
{
	return c->library->run(c, op, in, out);
}

void compressor_free(struct compressor **c)
{
	if (*c == NULL)
		return;
	(*c)->library->end(*c);
	free(*c);
	*c = NULL;
}

ssize_t compress_whole(enum coding coding, enum compress_effort effort, const void *in, size_t n,
	void *out, size_t cap)
{
	struct slice rest = slice_of(in, n);
	struct compress_room room = { out, cap };
	struct compressor *c;
	int rc;

	if (!compress_has(coding))
		return -ENOTSUP;
	c = compressor_new(coding, effort, n);
	if (c == NULL)
		return -ENOMEM;
	rc = compressor_run(c, COMPRESS_END, &rest, &room);
	compressor_free(&c);
	if (rc < 0)
		return rc;
	return rc == 0 ? (ssize_t)(cap - room.n) : 0;
}
