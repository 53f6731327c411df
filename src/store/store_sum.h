/*
 * store_sum: the hashes of content as it goes by (SHA-256, SHA-512), held against what a client
 * says of it. Used in offload threads, one thread per sum; never sees a file.
 */
#ifndef H2D_STORE_STORE_SUM_H
#define H2D_STORE_STORE_SUM_H

#include "http/digest_field.h"
#include "store/store_result.h"

struct store_sum {
	void *ctx[DIGEST_ALGORITHMS]; /* NULL: not computed */
};

/* Adds an algorithm, before the first byte; zeroed, a sum computes none. 0, or -ENOMEM. */
int store_sum_want(struct store_sum *s, enum digest_algorithm a);
/* Adds those that n fields give a hash of. 0, or -ENOMEM. */
int store_sum_want_given(struct store_sum *s, const struct digest_field *fields, unsigned n);
void store_sum_fini(struct store_sum *s);

/* Adds content. 0, or -ENOMEM when the library fails. */
int store_sum_add(struct store_sum *s, const void *p, size_t n);

/* Ends one that is wanted: the hash. 0, or -ENOMEM. */
int store_sum_end(
	struct store_sum *s, enum digest_algorithm a, unsigned char hash[DIGEST_SIZE_MAX]);
/* Ends those that n fields give a hash of. ERR_DIGEST_WRONG: it is another one. */
struct store_result store_sum_compare(
	struct store_sum *s, const struct digest_field *fields, unsigned n);

#endif
