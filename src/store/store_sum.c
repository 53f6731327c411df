/*
 * store_sum: hashes by libcrypto. Called in threads by what writes content, or reads it again.
 */
#include "store/store_work.h"

#include <errno.h>
#include <openssl/evp.h>

int store_sum_want(struct store_sum *s, enum digest_algorithm a)
{
	const EVP_MD *md = a == DIGEST_SHA_256 ? EVP_sha256() : EVP_sha512();

	if (s->ctx[a] == NULL)
		s->ctx[a] = EVP_MD_CTX_new();
	return s->ctx[a] != NULL && EVP_DigestInit_ex(s->ctx[a], md, NULL) == 1 ? 0 : -ENOMEM;
}

static bool is_given(const struct digest_field *fields, unsigned n, enum digest_algorithm a)
{
	for (unsigned i = 0; i < n; i++)
		if (fields[i].given[a])
			return true;
	return false;
}

int store_sum_want_given(struct store_sum *s, const struct digest_field *fields, unsigned n)
{
	int rc = 0;

	for (enum digest_algorithm a = 0; rc == 0 && a < DIGEST_ALGORITHMS; a++)
		if (is_given(fields, n, a))
			rc = store_sum_want(s, a);
	return rc;
}

void store_sum_fini(struct store_sum *s)
{
	for (unsigned a = 0; a < DIGEST_ALGORITHMS; a++) {
		EVP_MD_CTX_free(s->ctx[a]);
		s->ctx[a] = NULL;
	}
}

int store_sum_add(struct store_sum *s, const void *p, size_t n)
{
	for (unsigned a = 0; a < DIGEST_ALGORITHMS; a++)
		if (s->ctx[a] != NULL && EVP_DigestUpdate(s->ctx[a], p, n) != 1)
			return -ENOMEM;
	return 0;
}

int store_sum_end(struct store_sum *s, enum digest_algorithm a, unsigned char hash[DIGEST_SIZE_MAX])
{
	return EVP_DigestFinal_ex(s->ctx[a], hash, NULL) == 1 ? 0 : -ENOMEM;
}

struct store_result store_sum_compare(
	struct store_sum *s, const struct digest_field *fields, unsigned n)
{
	unsigned char hash[DIGEST_SIZE_MAX];
	const struct err *err = NULL;

	for (enum digest_algorithm a = 0; err == NULL && a < DIGEST_ALGORITHMS; a++) {
		if (!is_given(fields, n, a))
			continue;
		if (store_sum_end(s, a, hash) < 0)
			return store_errno(-ENOMEM);
		for (unsigned i = 0; err == NULL && i < n; i++)
			err = digest_field_compare(&fields[i], a, hash);
	}
	return store_refuse(err);
}
