/*
 * ref: the count of the borrowers of memory that bytes in flight point into (a cache image, a
 * buffer read from disk). Counts are plain integers, so one thread alone may use them. The last
 * ref_put() calls release(), which may free; a release() that must not free inside an event batch
 * defers that to the end of the batch.
 */
#ifndef H2D_BASE_REF_H
#define H2D_BASE_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

struct ref {
	unsigned count;
	bool in_file; /* it is the first member of a struct ref_file */
	void (*release)(struct ref *ref);
};

/* A count of borrowers of memory that is a file's, too: byte p lies in fd at p - bytes, where a
 * socket may take it from (sendfile(2)). fd -1: not any more. */
struct ref_file {
	struct ref ref;
	int fd;
	const uint8_t *bytes;
};

static inline void ref_init(struct ref *ref, void (*release)(struct ref *ref))
{
	ref->count = 1;
	ref->in_file = false;
	ref->release = release;
}

static inline void ref_get(struct ref *ref)
{
	H2D_ASSERT(ref->count > 0);
	ref->count++;
}

static inline void ref_put(struct ref *ref)
{
	H2D_ASSERT(ref->count > 0);
	if (--ref->count == 0)
		ref->release(ref);
}

#endif
