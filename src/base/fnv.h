/*
 * fnv: FNV-1a, a hash for what nobody makes collide on purpose: names and files of the operator's.
 */
#ifndef H2D_BASE_FNV_H
#define H2D_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* The hash of what h is of, and of n more bytes. */
static inline uint64_t fnv_add(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
