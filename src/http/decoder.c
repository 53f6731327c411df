/*
 * decoder: reads both files, has one library decode a piece, and compares. The keeper's threads and
 * those of the workers' disk call it. One stream is decoded: of several in a row clients may take
 * the first alone. It never has more than two pieces in memory beside the library's window.
 */
#include "http/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"

enum { PIECE = 64 << 10 };

enum { MORE = DECODER_VERDICTS, END }; /* of a step, beside verdicts and -errno */

/* Where a step reads and writes. */
struct run {
	const unsigned char *in;
	size_t nin;
	unsigned char *out;
	size_t nout;
};

#ifdef HAVE_BROTLIDEC
#include <brotli/decode.h>

static void *begin_brotli(void)
{
	return BrotliDecoderCreateInstance(NULL, NULL, NULL);
}

static int step_brotli(void *state, struct run *r)
{
	switch (BrotliDecoderDecompressStream(state, &r->nin, &r->in, &r->nout, &r->out, NULL)) {
	case BROTLI_DECODER_RESULT_SUCCESS:
		return END;
	case BROTLI_DECODER_RESULT_ERROR:
		return DECODER_BROKEN;
	default:
		return MORE;
	}
}

static void end_brotli(void *state)
{
	BrotliDecoderDestroyInstance(state);
}
#endif

#ifdef HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

enum { ZSTD_WINDOW_LOG = 23 }; /* 8 MiB */

static void *begin_zstd(void)
{
	ZSTD_DCtx *z = ZSTD_createDCtx();

	if (z != NULL)
		ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	return z;
}

static int step_zstd(void *state, struct run *r)
{
	ZSTD_inBuffer in = { r->in, r->nin, 0 };
	ZSTD_outBuffer out = { r->out, r->nout, 0 };
	size_t rc = ZSTD_decompressStream(state, &out, &in);

	r->in += in.pos;
	r->nin -= in.pos;
	r->out += out.pos;
	r->nout -= out.pos;
	if (!ZSTD_isError(rc))
		return rc == 0 ? END : MORE;
	switch (ZSTD_getErrorCode(rc)) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		return DECODER_WINDOW;
	default:
		return DECODER_BROKEN;
	}
}

static void end_zstd(void *state)
{
	ZSTD_freeDCtx(state);
}
#endif

#ifdef HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16 };

static void *begin_gzip(void)
{
	z_stream *z = calloc(1, sizeof(*z));

	if (z != NULL && inflateInit2(z, GZIP_WINDOW) != Z_OK) {
		free(z);
		z = NULL;
	}
	return z;
}

static int step_gzip(void *state, struct run *r)
{
	z_stream *z = state;
	int rc;

	z->next_in = r->in;
	z->avail_in = (uInt)r->nin;
	z->next_out = r->out;
	z->avail_out = (uInt)r->nout;
	rc = inflate(z, Z_NO_FLUSH);
	r->in = z->next_in;
	r->nin = z->avail_in;
	r->out = z->next_out;
	r->nout = z->avail_out;
	switch (rc) {
	case Z_STREAM_END:
		return END;
	case Z_OK:
	case Z_BUF_ERROR: /* it wants more, of the one or the other */
		return MORE;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return DECODER_BROKEN;
	}
}

static void end_gzip(void *state)
{
	inflateEnd(state);
	free(state);
}
#endif

static const struct library {
	void *(*begin)(void);
	int (*step)(void *state, struct run *r);
	void (*end)(void *state);
} libraries[CODINGS] = {
#ifdef HAVE_BROTLIDEC
	[CODING_BR] = { begin_brotli, step_brotli, end_brotli },
#endif
#ifdef HAVE_ZSTD
	[CODING_ZSTD] = { begin_zstd, step_zstd, end_zstd },
#endif
#ifdef HAVE_ZLIB
	[CODING_GZIP] = { begin_gzip, step_gzip, end_gzip },
#endif
};

struct compare {
	const struct library *library;
	void *state;
	/* The bytes of both that are left; plain without a file: as many are looked at. */
	struct decoder_bytes coded, plain;
	struct run run;
	unsigned char in[PIECE], out[PIECE], wanted[PIECE];
};

/* The next n bytes. */
static int take(struct decoder_bytes *from, unsigned char *to, size_t n)
{
	while (n > 0) {
		ssize_t got = pread(from->fd, to, n, (off_t)from->at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EAGAIN;
		to += got;
		n -= (size_t)got;
		from->at += (uint64_t)got;
		from->n -= (uint64_t)got;
	}
	return 0;
}

static int refill(struct compare *c)
{
	size_t n = c->coded.n < PIECE ? (size_t)c->coded.n : PIECE;

	if (c->run.nin > 0)
		return 0;
	c->run.in = c->in;
	c->run.nin = n;
	return take(&c->coded, c->in, n);
}

/* The n bytes that were decoded. MORE: as they should be. */
static int check(struct compare *c, size_t n)
{
	int rc;

	if (c->plain.fd < 0) {
		c->plain.n -= n < c->plain.n ? n : c->plain.n;
		return c->plain.n > 0 ? MORE : DECODER_SAME;
	}
	if (n > c->plain.n)
		return DECODER_OTHER;
	rc = take(&c->plain, c->wanted, n);
	if (rc < 0)
		return rc;
	return memcmp(c->out, c->wanted, n) == 0 ? MORE : DECODER_OTHER;
}

static int step(struct compare *c)
{
	int rc = refill(c), found;
	size_t n, nin = c->run.nin;

	if (rc < 0)
		return rc;
	c->run.out = c->out;
	c->run.nout = PIECE;
	rc = c->library->step(c->state, &c->run);
	n = PIECE - c->run.nout;
	found = check(c, n);
	if (found != MORE)
		return found;
	if (rc == END) {
		if (c->run.nin + c->coded.n > 0)
			return DECODER_LONG;
		return c->plain.n == 0 || c->plain.fd < 0 ? DECODER_SAME : DECODER_OTHER;
	}
	if (rc == MORE && n == 0 && nin == c->run.nin)
		return c->coded.n == 0 ? DECODER_SHORT : DECODER_BROKEN;
	return rc;
}

int decoder_compare(
	enum coding coding, const struct decoder_bytes *coded, const struct decoder_bytes *plain)
{
	struct compare *c;
	int rc = MORE;

	H2D_ASSERT(coding < CODINGS);
	if (libraries[coding].begin == NULL)
		return DECODER_NONE;
	c = malloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	c->library = &libraries[coding];
	c->coded = *coded;
	c->plain = *plain;
	c->run = (struct run){ 0 };
	c->state = c->library->begin();
	if (c->state == NULL)
		rc = -ENOMEM;
	while (rc == MORE)
		rc = step(c);
	if (c->state != NULL)
		c->library->end(c->state);
	free(c);
	return rc;
}

int decoder_check(enum coding coding, const struct decoder_bytes *coded)
{
	const struct decoder_bytes any = { .fd = -1, .n = DECODER_CHECKED };

	return decoder_compare(coding, coded, &any);
}

const char *decoder_reason(enum decoder_verdict verdict)
{
	static const char *const reasons[DECODER_VERDICTS] = {
		[DECODER_SAME] = "it decodes to the same bytes",
		[DECODER_OTHER] = "it decodes to other bytes",
		[DECODER_BROKEN] = "it is not in that coding",
		[DECODER_SHORT] = "it ends too early",
		[DECODER_LONG] = "something follows its end",
		[DECODER_WINDOW] = "its window is larger than 8 MiB",
		[DECODER_NONE] = "this h2d was built without the library that decodes it",
	};

	return reasons[verdict];
}
