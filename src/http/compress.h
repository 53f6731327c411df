/*
 * compress: one whole body in one content coding. Takes up to seconds: called in threads of the
 * keeper, and of workers for listings; never on a loop. Each library can be missing from a build.
 */
#ifndef H2D_HTTP_COMPRESS_H
#define H2D_HTTP_COMPRESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "http/coding.h"

/* How much time the bytes are worth. */
enum compress_effort {
	COMPRESS_BEST, /* made once and sent often: br 11, zstd 19, gzip 9 */
	COMPRESS_SOON, /* a client waits for it: br 5, zstd 6, gzip 6 */
};

/* True: this build has the coding. */
bool compress_has(enum coding coding);

/* All of them: bit set by enum coding. */
unsigned compress_built(void);

/* "brotli 1.0.9": the library behind a coding that this build has, cut to size. */
void compress_library(enum coding coding, char *text, size_t size);

/*
 * Compresses n bytes of in into out, less than 4 GiB. How many it wrote; 0 if cap does not
 * hold them (zstd may want a few bytes more), out then holding anything; -ENOMEM, or -ENOTSUP if
 * this build does not have it. The same bytes become the same bytes until a library changes.
 */
ssize_t compress_whole(enum coding coding, enum compress_effort effort, const void *in, size_t n,
	void *out, size_t cap);

/* The most bytes that a variant of n bytes may have: less than that it is not worth keeping (5 %).
 */
static inline size_t compress_worth(size_t n)
{
	return n - n / 20 - (n % 20 != 0);
}

#endif
