/*
 * ref: the count of the borrowers of memory that bytes in flight point into (a cache image, a
 * buffer read from disk). Counts are plain integers, so one thread alone may use them. The last
 * ref_put() calls release(), which may free; a release() that must not free inside an event batch
 * defers that to the end of the batch.
 */
#ifndef H2D_BASE_REF_H
#define H2D_BASE_REF_H

#include "base/assert.h"

struct ref {
	unsigned count;
	void (*release)(struct ref *ref);
};

static inline void ref_init(struct ref *ref, void (*release)(struct ref *ref))
{
	ref->count = 1;
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
