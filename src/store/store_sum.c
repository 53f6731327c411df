/* store_sum: see store_sum.h; by libcrypto. Called by store_file.c and store_work.c only. */
#include "store/store_sum.h"

#include <errno.h>
#include <openssl/evp.h>

int store_sum_want(struct store_sum *s, enum digest_algorithm a)
{
	const EVP_MD *md = a == DIGEST_SHA_256 ? EVP_sha256() : EVP_sha512();

	if (s->ctx[a] == NULL)
		s->ctx[a] = EVP_MD_CTX_new();
	return s->ctx[a] != NULL && EVP_DigestInit_ex(s->ctx[a], md, NULL) == 1 ? 0 : -ENOMEM;
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
