/*
 * store_sum: the hashes of content as it goes by (SHA-256, SHA-512). Used in offload threads, one
 * thread per sum; never sees a file.
 */
#ifndef H2D_STORE_STORE_SUM_H
#define H2D_STORE_STORE_SUM_H

#include "http/digest_field.h"

struct store_sum {
	void *ctx[DIGEST_ALGORITHMS]; /* NULL: not computed */
};

/* Zeroed, it computes nothing. Adds an algorithm, before the first byte. 0, or -ENOMEM. */
int store_sum_want(struct store_sum *s, enum digest_algorithm a);
void store_sum_fini(struct store_sum *s);

/* 0, or -ENOMEM when the library fails. */
int store_sum_add(struct store_sum *s, const void *p, size_t n);

/* Once, of one that is wanted: what it comes to. 0, or -ENOMEM. */
int store_sum_end(
	struct store_sum *s, enum digest_algorithm a, unsigned char hash[DIGEST_SIZE_MAX]);

#endif
