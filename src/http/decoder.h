/*
 * decoder: whether a file in a content coding stands for another one: decodes the one and compares
 * with the other, a piece at a time, up to the first difference; or looks at it alone. Takes up to
 * a second: called in threads, never on a loop. Each library can be missing from a build.
 */
#ifndef H2D_HTTP_DECODER_H
#define H2D_HTTP_DECODER_H

#include <stdint.h>

#include "http/coding.h"

enum { DECODER_CHECKED = 64 << 20 };

enum decoder_verdict {
	DECODER_SAME,
	DECODER_OTHER,  /* it decodes to other bytes */
	DECODER_BROKEN, /* its bytes are not of that coding */
	DECODER_SHORT,  /* it ends too early */
	DECODER_LONG,   /* something follows its end */
	DECODER_WINDOW, /* clients need not have the memory to decode it (RFC 9659, 3) */
	DECODER_NONE,   /* this build cannot decode it */
	DECODER_VERDICTS,
};

/* Bytes of an open file. */
struct decoder_bytes {
	int fd;
	uint64_t at, n;
};

/* The verdict; -EAGAIN if one of them is shorter than said, or another -errno. */
int decoder_compare(
	enum coding coding, const struct decoder_bytes *coded, const struct decoder_bytes *plain);

/* Whether coded is in that coding, as far as DECODER_CHECKED decoded bytes tell; as above. */
int decoder_check(enum coding coding, const struct decoder_bytes *coded);

/* "it decodes to other bytes": to be read behind a name and a colon. */
const char *decoder_reason(enum decoder_verdict verdict);

#endif
