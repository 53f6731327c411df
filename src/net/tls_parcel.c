/*
 * tls_parcel: what stands in a parcel of certificates: of each its leaf, the way up, its staple and
 * its key. tls_ctx calls it. Copies of keys are wiped.
 */
#include "net/tls_parcel.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include "net/parcel.h"
#include "net/tls_staple.h"

enum part {
	PART_LEAF = 1,
	PART_CHAIN, /* further certificates, in their order */
	PART_STAPLE,
	PART_KEY, /* the last one of each */
};

/* --- packing ---------------------------------------------------------------------------------- */

static int put_certificate(int fd, enum part part, X509 *x)
{
	unsigned char *der = NULL;
	int n = i2d_X509(x, &der), rc;

	if (n < 0)
		return -ENOMEM;
	rc = parcel_put(fd, part, der, (size_t)n);
	OPENSSL_free(der);
	return rc;
}

static int put_key(int fd, const EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int n = key != NULL ? i2d_PrivateKey(key, &der) : -1, rc;

	if (n < 0)
		return -ENOMEM;
	rc = parcel_put(fd, PART_KEY, der, (size_t)n);
	OPENSSL_clear_free(der, (size_t)n);
	return rc;
}

static int put_staple(int fd, const X509 *leaf)
{
	const struct tls_staple *s = tls_staple_of(leaf);
	const unsigned char *der;
	size_t n;

	if (s == NULL || !tls_staple_fits(s))
		return 0;
	der = tls_staple_bytes(s, &n);
	return parcel_put(fd, PART_STAPLE, der, n);
}

static int put_pair(int fd, SSL_CTX *ssl, const struct tls_pair *p)
{
	STACK_OF(X509) *chain = NULL;
	int rc = put_certificate(fd, PART_LEAF, p->leaf);

	SSL_CTX_select_current_cert(ssl, p->leaf);
	SSL_CTX_get0_chain_certs(ssl, &chain);
	for (int i = 0; rc == 0 && i < sk_X509_num(chain); i++)
		rc = put_certificate(fd, PART_CHAIN, sk_X509_value(chain, i));
	if (rc == 0)
		rc = put_staple(fd, p->leaf);
	return rc == 0 ? put_key(fd, SSL_CTX_get0_privatekey(ssl)) : rc;
}

int tls_parcel_pack(const struct tls_cert *c)
{
	int fd = parcel_new("h2d-certificate"), rc = 0;

	if (fd < 0)
		return fd;
	for (unsigned i = 0; rc == 0 && i < c->npairs; i++)
		rc = put_pair(fd, c->ssl, &c->pairs[i]);
	ERR_clear_error();
	return parcel_end(fd, rc);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* One certificate of those in a parcel, as far as it is read. */
struct unpacked {
	struct tls_cert *to;
	X509 *leaf;
	STACK_OF(X509) * chain;
	const unsigned char *staple; /* NULL: there is none */
	size_t nstaple;
};

static void drop(struct unpacked *u)
{
	X509_free(u->leaf);
	sk_X509_pop_free(u->chain, X509_free);
	*u = (struct unpacked){ .to = u->to };
}

static bool take_leaf(struct unpacked *u, const unsigned char *p, size_t n)
{
	drop(u);
	u->chain = sk_X509_new_null();
	u->leaf = d2i_X509(NULL, &p, (long)n);
	return u->chain != NULL && u->leaf != NULL;
}

static bool take_further(const struct unpacked *u, const unsigned char *p, size_t n)
{
	X509 *x = u->chain != NULL ? d2i_X509(NULL, &p, (long)n) : NULL;

	if (x != NULL && sk_X509_push(u->chain, x) > 0)
		return true;
	X509_free(x);
	return false;
}

/* The last part: what was gathered becomes one of those that are made. */
static bool take_key(const struct unpacked *u, const unsigned char *p, size_t n)
{
	struct tls_cert *c = u->to;
	bool fits = u->leaf != NULL && c->npairs < c->room;
	EVP_PKEY *key = fits ? d2i_AutoPrivateKey(NULL, &p, (long)n) : NULL;
	struct tls_fault fault;
	bool ok = key != NULL && SSL_CTX_use_cert_and_key(c->ssl, u->leaf, key, u->chain, 0) == 1 &&
		  tls_cert_enter(c, &fault);

	EVP_PKEY_free(key);
	return ok && (u->staple == NULL || tls_staple_parse(u->staple, u->nstaple,
						   c->pairs[c->npairs - 1].leaf, NULL, NULL, 0));
}

static bool take(void *ctx, uint32_t part, const unsigned char *p, size_t n)
{
	struct unpacked *u = ctx;

	switch (part) {
	case PART_LEAF:
		return take_leaf(u, p, n);
	case PART_CHAIN:
		return take_further(u, p, n);
	case PART_STAPLE:
		u->staple = p;
		u->nstaple = n;
		return true;
	case PART_KEY:
		return take_key(u, p, n);
	default:
		return false;
	}
}

struct tls_cert *tls_parcel_open(SSL_CTX *ssl, int fd, unsigned n)
{
	struct unpacked u = { .to = tls_cert_new(ssl, n) };
	struct tls_cert *c = u.to;
	bool ok = c != NULL && parcel_open(fd, take, &u) && c->npairs == n && tls_cert_end(c);

	drop(&u);
	ERR_clear_error();
	if (!ok)
		tls_cert_free(&c);
	return c;
}
