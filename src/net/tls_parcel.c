/*
 * tls_parcel: writes and reads parts, one behind the other, each with its kind and length in front:
 * of each certificate the leaf first. tls_ctx calls it. Copies of keys are wiped.
 */
#include "net/tls_parcel.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/tls_staple.h"

enum { PARCEL_MAX = 4 << 20 };

enum part {
	PART_LEAF = 1,
	PART_CHAIN, /* further certificates, in their order */
	PART_STAPLE,
	PART_KEY, /* the last one of each */
};

struct head {
	uint32_t part, n;
};

/* --- packing ---------------------------------------------------------------------------------- */

/* 0 or -errno. */
static int write_all(int fd, const void *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0)
			return -errno;
		p = (const char *)p + done;
		n -= (size_t)done;
	}
	return 0;
}

static int put(int fd, enum part part, const void *p, size_t n)
{
	const struct head head = { part, (uint32_t)n };
	int rc = write_all(fd, &head, sizeof(head));

	return rc == 0 ? write_all(fd, p, n) : rc;
}

static int put_certificate(int fd, enum part part, X509 *x)
{
	unsigned char *der = NULL;
	int n = i2d_X509(x, &der), rc;

	if (n < 0)
		return -ENOMEM;
	rc = put(fd, part, der, (size_t)n);
	OPENSSL_free(der);
	return rc;
}

static int put_key(int fd, const EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int n = key != NULL ? i2d_PrivateKey(key, &der) : -1, rc;

	if (n < 0)
		return -ENOMEM;
	rc = put(fd, PART_KEY, der, (size_t)n);
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
	return put(fd, PART_STAPLE, der, n);
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
	int fd = memfd_create("h2d-certificate", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc = 0;

	if (fd < 0)
		return -errno;
	for (unsigned i = 0; rc == 0 && i < c->npairs; i++)
		rc = put_pair(fd, c->ssl, &c->pairs[i]);
	if (rc == 0 && fcntl(fd, F_ADD_SEALS,
			       F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		rc = -errno;
	ERR_clear_error();
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* One certificate of those in a parcel, as far as it is read. */
struct unpacked {
	X509 *leaf;
	STACK_OF(X509) * chain;
	const unsigned char *staple; /* NULL: there is none */
	size_t nstaple;
};

static void drop(struct unpacked *u)
{
	X509_free(u->leaf);
	sk_X509_pop_free(u->chain, X509_free);
	*u = (struct unpacked){ 0 };
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

/* The last part: what was gathered becomes one of c's. */
static bool take_key(struct tls_cert *c, const struct unpacked *u, const unsigned char *p, size_t n)
{
	bool fits = u->leaf != NULL && c->npairs < c->room;
	EVP_PKEY *key = fits ? d2i_AutoPrivateKey(NULL, &p, (long)n) : NULL;
	struct tls_fault fault;
	bool ok = key != NULL && SSL_CTX_use_cert_and_key(c->ssl, u->leaf, key, u->chain, 0) == 1 &&
		  tls_cert_enter(c, &fault);

	EVP_PKEY_free(key);
	return ok && (u->staple == NULL || tls_staple_parse(u->staple, u->nstaple,
						   c->pairs[c->npairs - 1].leaf, NULL, NULL, 0));
}

static bool take(
	struct tls_cert *c, struct unpacked *u, const struct head *head, const unsigned char *p)
{
	switch (head->part) {
	case PART_LEAF:
		return take_leaf(u, p, head->n);
	case PART_CHAIN:
		return take_further(u, p, head->n);
	case PART_STAPLE:
		u->staple = p;
		u->nstaple = head->n;
		return true;
	case PART_KEY:
		return take_key(c, u, p, head->n);
	default:
		return false;
	}
}

static bool unpack(struct tls_cert *c, const unsigned char *p, size_t n)
{
	struct unpacked u = { 0 };
	bool ok = true;

	while (ok && n > 0) {
		struct head head = { 0 };

		if (n >= sizeof(head))
			memcpy(&head, p, sizeof(head));
		ok = n >= sizeof(head) && head.n <= n - sizeof(head) &&
		     take(c, &u, &head, p + sizeof(head));
		p += sizeof(head) + head.n;
		n -= sizeof(head) + head.n;
	}
	drop(&u);
	return ok;
}

/* At an offset of its own: all workers have the same open file. */
static bool read_all(int fd, unsigned char *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = pread(fd, to + at, n - at, (off_t)at);

		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

struct tls_cert *tls_parcel_open(SSL_CTX *ssl, int fd, unsigned n)
{
	struct tls_cert *c = tls_cert_new(ssl, n);
	unsigned char *all = NULL;
	struct stat st;
	bool ok = c != NULL && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= PARCEL_MAX &&
		  (all = malloc((size_t)st.st_size)) != NULL;

	ok = ok && read_all(fd, all, (size_t)st.st_size) && unpack(c, all, (size_t)st.st_size) &&
	     c->npairs == n && tls_cert_end(c);
	if (all != NULL)
		explicit_bzero(all, (size_t)st.st_size);
	free(all);
	ERR_clear_error();
	if (!ok)
		tls_cert_free(&c);
	return c;
}
