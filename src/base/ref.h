/*
 * ref: the count of the borrowers of memory that bytes in flight point into (a cache image, a
 * buffer read from disk). Counts are plain integers, so one thread alone may use them. The last
 * ref_put() calls release(), which may free; a release() that must not free inside an event batch
 * defers that to the end of the batch.
 */
#ifndef H2D_BASE_REF_H
#define H2D_BASE_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"

struct ref {
	unsigned count;
	bool in_file; /* it is the first member of a struct ref_file */
	void (*release)(struct ref *ref);
};

/*
 * A count of borrowers of memory that is a file's, too: byte p lies in fd at p - bytes, where a
 * socket may take it from (sendfile(2)). fd -1: not any more. bytes NULL: there is no memory, the
 * bytes are in fd alone.
 */
struct ref_file {
	struct ref ref;
	int fd;
	bool refuses; /* without memory: fd did not give what was asked of it */
	const uint8_t *bytes;
	/* Without memory: n bytes that were queued last are not, nor were they sent. */
	void (*back)(struct ref_file *file, size_t n);
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

/*
 * lender: asks all who hold references on memory which bytes of it they still need, so
 * that it can copy those and give the rest back. Called by what holds references (outqs, bodies),
 * all of them in one call from the loop. Nobody takes a reference meanwhile, and only who is
 * refused puts one.
 */

enum lender_answer {
	LENDER_OTHER,   /* it is not this lender's memory, or not in question now */
	LENDER_COPIES,  /* the bytes can be read where they are as long as the reference is held */
	LENDER_REFUSES, /* there is no room: put the reference without reading any of them */
};

struct lender {
	/* For each reference on ref once: all it is still for are n bytes from p on (0: none). */
	enum lender_answer (*needs)(struct lender *l, struct ref *ref, const void *p, size_t n);
};

#endif
