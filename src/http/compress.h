/*
 * compress: a body in one content coding, whole or in pieces. Whole, it takes up to seconds: in
 * threads of the keeper, and of workers for listings; never on a loop. Each library can be missing
 * from a build.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/coding.h"

/* The time that the result is worth. */
enum compress_effort {
	COMPRESS_BEST, /* made once and sent often: br 11, zstd 19, gzip 9 */
	COMPRESS_SOON, /* a client waits for it: br 5, zstd 6, gzip 6 */
	COMPRESS_NOW,  /* a loop makes it: br 4, zstd 3, gzip 5, in 1.8 MiB each */
};

/* True: this build has the coding. */
bool compress_has(enum coding coding);

/* A bit set by enum coding of all of them. */
unsigned compress_built(void);

/* "brotli 1.0.9": the library behind a coding that this build has, cut to size. */
void compress_library(enum coding coding, char *text, size_t size);

/*
 * Compresses n bytes of in into out, less than 4 GiB. Returns how many it wrote; 0 if cap is too
 * small (zstd may need a few bytes more), out then being undefined; -ENOMEM, or -ENOTSUP if this
 * build does not have it. The same input gives the same output until a library changes.
 */
ssize_t compress_whole(enum coding coding, enum compress_effort effort, const void *in, size_t n,
	void *out, size_t cap);

/* --- in pieces: a struct compressor is one body that is being compressed --- */

enum compress_op {
	COMPRESS_MORE,  /* more bytes follow */
	COMPRESS_FLUSH, /* all bytes so far can be decoded from the output */
	COMPRESS_END,   /* the body ends with these bytes */
};

/* Free bytes for output. */
struct compress_room {
	uint8_t *p;
	size_t n;
};

struct compressor;

/* For a body of n bytes (SIZE_MAX: unknown) in a coding that this build has; the caller frees it.
 * NULL when memory is out. */
struct compressor *compressor_new(enum coding coding, enum compress_effort effort, size_t n);

/*
 * Takes bytes from the front of *in (less than 4 GiB), puts output at the front of *out (16 bytes
 * at least), and advances both. 1: out is too small; call it again with the same op, the rest of
 * in, and more room. 0: op is done. -ENOMEM: the compressor can only be freed.
 */
int compressor_run(
	struct compressor *c, enum compress_op op, struct slice *in, struct compress_room *out);

/* Sets *c NULL; harmless if it is. */
void compressor_free(struct compressor **c);

/* The most bytes that a variant of n bytes may have: it must save 5 %. */
static inline size_t compress_worth(size_t n)
{
	return n - n / 20 - (n % 20 != 0);
}
