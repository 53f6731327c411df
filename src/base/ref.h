/*
 * ref: counts the borrowers of memory with bytes in flight (a cache image, a buffer read from
 * disk). One thread alone may use a count. The last ref_put() calls release(), which may free; one
 * that must not free inside an event batch defers that to the end of the batch.
 */
#pragma once

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
 * A count of borrowers of memory with the same bytes as a file: byte p is in fd at p - bytes, for
 * sendfile(2). fd -1: no longer. bytes NULL: no memory, the bytes are in fd alone.
 */
struct ref_file {
	struct ref ref;
	int fd;
	bool refuses; /* without memory: fd did not give the bytes */
	const uint8_t *bytes;
	/* Without memory: the n bytes that were queued last are dropped unsent. */
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
 * lender: asks all holders of references on memory which bytes they still need, so that it can copy
 * those and give the rest back. Called by all holders (outqs, bodies) in one call from the loop. No
 * reference is taken meanwhile, and only a refused holder puts one.
 */

enum lender_answer {
	LENDER_OTHER,   /* other memory, or not in question now */
	LENDER_COPIES,  /* the bytes can be read where they are as long as the reference is held */
	LENDER_REFUSES, /* no room: put the reference, do not read the bytes */
};

struct lender {
	/* Called once for each reference on ref, which still needs n bytes from p on (0: none). */
	enum lender_answer (*needs)(struct lender *l, struct ref *ref, const void *p, size_t n);
};
