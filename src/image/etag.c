/*
 * etag: see etag.h. The hash is SHA-256 by libcrypto, cut to 72 bits: enough to distinguish the
 * versions of one file; each character costs a little in every response (nghttp2 does not index
 * it). Braces surround it because HPACK's Huffman code has 14 and 15 bits for them: so it shortens
 * only 3 of 100 tags, and nghttp2 copies the tag instead of coding each character.
 */
#include "image/etag.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ETAG_HASH_BYTES = 9, PIECE = 64 << 10 };

struct etag_hash {
	EVP_MD_CTX *ctx;
	EVP_MD *md;
};

/* Base64url (RFC 4648, 5) of a multiple of three bytes. */
static char *base64url(char *out, const uint8_t *p, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (; n >= 3; n -= 3, p += 3) {
		uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

		*out++ = digit[v >> 18];
		*out++ = digit[v >> 12 & 63];
		*out++ = digit[v >> 6 & 63];
		*out++ = digit[v & 63];
	}
	return out;
}

void etag_of_file(const struct file_id *id, int64_t seen_ns, struct slice form, struct etag *e)
{
	e->n = (unsigned)snprintf(e->text, sizeof(e->text), "%s\"%" PRIx64 "-%" PRIx64 "%s%.*s\"",
		file_id_settled(id, seen_ns) ? "" : "W/", id->size, (uint64_t)id->mtime_ns,
		form.n > 0 ? "-" : "", SLICE_ARG(form));
}

void etag_of_sha256(const unsigned char sum[ETAG_SHA256], struct etag *e)
{
	char *p = e->text;

	*p++ = '"';
	*p++ = '{';
	p = base64url(p, sum, ETAG_HASH_BYTES);
	*p++ = '}';
	*p++ = '"';
	e->n = (unsigned)(p - e->text);
}

struct etag_hash *etag_hash_new(void)
{
	struct etag_hash *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->ctx = EVP_MD_CTX_new();
	/* Fetched once: an implicit fetch costs as much as the hash of a small file. */
	h->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (h->ctx == NULL || h->md == NULL)
		etag_hash_free(&h);
	return h;
}

void etag_hash_free(struct etag_hash **h)
{
	if (*h == NULL)
		return;
	EVP_MD_CTX_free((*h)->ctx);
	EVP_MD_free((*h)->md);
	free(*h);
	*h = NULL;
}

int etag_hash_begin(struct etag_hash *h)
{
	return EVP_DigestInit_ex2(h->ctx, h->md, NULL) == 1 ? 0 : -ENOMEM;
}

int etag_hash_add(struct etag_hash *h, const void *p, size_t n)
{
	return EVP_DigestUpdate(h->ctx, p, n) == 1 ? 0 : -ENOMEM;
}

int etag_hash_end(struct etag_hash *h, struct etag *e)
{
	uint8_t sum[EVP_MAX_MD_SIZE];

	if (EVP_DigestFinal_ex(h->ctx, sum, NULL) != 1)
		return -ENOMEM;
	etag_of_sha256(sum, e);
	return 0;
}

int etag_of_bytes(const void *p, size_t n, struct etag *e)
{
	unsigned char sum[EVP_MAX_MD_SIZE];

	if (EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL) != 1)
		return -ENOMEM;
	etag_of_sha256(sum, e);
	return 0;
}

static int hash_fd(struct etag_hash *h, int fd, char *buf, uint64_t n)
{
	int rc = etag_hash_begin(h);

	for (uint64_t at = 0; rc == 0 && at < n;) {
		size_t piece = n - at < PIECE ? (size_t)(n - at) : PIECE;
		ssize_t got = TEMP_FAILURE_RETRY(pread(fd, buf, piece, (off_t)at));

		if (got <= 0)
			return got < 0 ? -errno : -EAGAIN;
		rc = etag_hash_add(h, buf, (size_t)got);
		at += (uint64_t)got;
	}
	return rc;
}

int etag_of_fd(int fd, uint64_t n, struct etag *e)
{
	struct etag_hash *h = etag_hash_new();
	char *buf = malloc(PIECE);
	int rc = h != NULL && buf != NULL ? hash_fd(h, fd, buf, n) : -ENOMEM;

	if (rc == 0)
		rc = etag_hash_end(h, e);
	etag_hash_free(&h);
	free(buf);
	return rc;
}
