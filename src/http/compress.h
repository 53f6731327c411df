/*
 * compress: one whole body in one content coding. Takes up to seconds: called in threads of the
 * keeper, and of workers for listings; never on a loop. Each library can be missing from a build.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "http/coding.h"

/* The time that the result is worth. */
enum compress_effort {
	COMPRESS_BEST, /* made once and sent often: br 11, zstd 19, gzip 9 */
	COMPRESS_SOON, /* a client waits for it: br 5, zstd 6, gzip 6 */
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

/* The most bytes that a variant of n bytes may have: it must save 5 %. */
static inline size_t compress_worth(size_t n)
{
	return n - n / 20 - (n % 20 != 0);
}
