/*
 * tls_staple: the master reads the file, a worker's handshakes check the time. Each response is
 * stored with its certificate (ex_data), so that no handshake sends one of another.
 */
#include "tls/tls_staple.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file_read.h"
#include "tls/tls_cert.h"

enum {
	RESPONSE_MAX = 64 << 10,
	SKEW_S = 300, /* the responder's clock may be ahead by this */
};

struct tls_staple {
	const char *unfit;   /* at any time; NULL: fits */
	int64_t from, until; /* seconds since 1970; until 0: unknown */
	size_t n;
	unsigned char der[];
};

/* --- certificates' staples -------------------------------------------------------------------- */

static int slot = -1; /* of ex_data */

static void release_staple(
	void *parent, void *p, CRYPTO_EX_DATA *all, int at, long argl, void *argp)
{
	(void)parent, (void)all, (void)at, (void)argl, (void)argp;
	free(p);
}

const struct tls_staple *tls_staple_of(const X509 *leaf)
{
	return slot >= 0 ? X509_get_ex_data(leaf, slot) : NULL;
}

/* --- content ---------------------------------------------------------------------------------- */

static bool is_octets(const ASN1_OCTET_STRING *s, const unsigned char *bytes, unsigned n)
{
	return ASN1_STRING_length(s) == (int)n && memcmp(ASN1_STRING_get0_data(s), bytes, n) == 0;
}

/* RFC 6960, 4.1.1: by the hashes of the issuer's name and key, and the serial number. */
static bool is_about(OCSP_SINGLERESP *one, const X509 *leaf, const X509 *issuer)
{
	ASN1_OCTET_STRING *name, *key;
	ASN1_OBJECT *algorithm;
	ASN1_INTEGER *serial;
	unsigned char digest[EVP_MAX_MD_SIZE];
	const EVP_MD *md;
	unsigned n;

	if (OCSP_id_get0_info(&name, &algorithm, &key, &serial,
		    (OCSP_CERTID *)(uintptr_t)OCSP_SINGLERESP_get0_id(one)) != 1 ||
		ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaf)) != 0)
		return false;
	md = EVP_get_digestbyobj(algorithm);
	if (md == NULL || X509_NAME_digest(X509_get_issuer_name(leaf), md, digest, &n) != 1 ||
		!is_octets(name, digest, n))
		return false;
	return issuer == NULL ||
	       (X509_pubkey_digest(issuer, md, digest, &n) == 1 && is_octets(key, digest, n));
}

/* RFC 6960, 4.2.2.2: by the issuer itself, or by its delegate. */
static bool is_signed(OCSP_BASICRESP *basic, X509 *issuer)
{
	X509_STORE *store = X509_STORE_new();
	STACK_OF(X509) *signers = sk_X509_new_null();
	bool ok = store != NULL && signers != NULL && X509_STORE_add_cert(store, issuer) == 1 &&
		  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1 &&
		  sk_X509_push(signers, issuer) > 0 &&
		  OCSP_basic_verify(basic, signers, store, 0) == 1;

	sk_X509_free(signers);
	X509_STORE_free(store);
	return ok;
}

static void judge_basic(struct tls_staple *s, OCSP_BASICRESP *basic, X509 *leaf, X509 *issuer)
{
	ASN1_GENERALIZEDTIME *from, *until;
	int i = 0, status;

	while (i < OCSP_resp_count(basic) && !is_about(OCSP_resp_get0(basic, i), leaf, issuer))
		i++;
	if (i == OCSP_resp_count(basic)) {
		s->unfit = "it is for another certificate";
		return;
	}
	status = OCSP_single_get0_status(OCSP_resp_get0(basic, i), NULL, NULL, &from, &until);
	s->from = tls_cert_seconds(from);
	s->until = tls_cert_seconds(until);
	if (issuer != NULL && !is_signed(basic, issuer))
		s->unfit = "it is not signed by the issuer of the certificate";
	else if (status == V_OCSP_CERTSTATUS_REVOKED)
		s->unfit = "it reports the certificate as revoked";
	else if (status != V_OCSP_CERTSTATUS_GOOD)
		s->unfit = "it reports the certificate as unknown";
}

static void judge(struct tls_staple *s, OCSP_RESPONSE *response, X509 *leaf, X509 *issuer)
{
	OCSP_BASICRESP *basic = NULL;

	if (OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
		basic = OCSP_response_get1_basic(response);
	if (basic != NULL)
		judge_basic(s, basic, leaf, issuer);
	else
		s->unfit = "it contains an error of the responder";
	OCSP_BASICRESP_free(basic);
}

const char *tls_staple_unfit(const struct tls_staple *s, int64_t now)
{
	if (s->unfit != NULL)
		return s->unfit;
	if (now < s->from - SKEW_S)
		return "it is not valid yet";
	return s->until != 0 && now > s->until ? "it has expired" : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

const char *tls_staple_parse(const unsigned char *der, size_t n, X509 *leaf, X509 *issuer)
{
	const unsigned char *p = der;
	OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &p, (long)n);
	struct tls_staple *s = NULL;
	const char *why = NULL;

	if (response == NULL || p != der + n)
		why = "the file has no OCSP response in DER (see openssl ocsp -respout)";
	else if ((s = calloc(1, sizeof(*s) + n)) == NULL)
		why = strerror(ENOMEM);
	if (s != NULL) {
		s->n = n;
		memcpy(s->der, der, n);
		judge(s, response, leaf, issuer);
		if (slot < 0)
			slot = X509_get_ex_new_index(0, NULL, NULL, NULL, release_staple);
		if (slot < 0 || X509_set_ex_data(leaf, slot, s) != 1) {
			free(s);
			why = strerror(ENOMEM);
		}
	}
	OCSP_RESPONSE_free(response);
	ERR_clear_error();
	return why;
}

const char *tls_staple_load(const char *file, X509 *leaf, X509 *issuer)
{
	unsigned char buf[RESPONSE_MAX];
	ssize_t n = file_read(file, buf, sizeof(buf));

	return n < 0 ? strerror((int)-n) : tls_staple_parse(buf, (size_t)n, leaf, issuer);
}

/* --- handshakes ------------------------------------------------------------------------------- */

/* The callback of SSL_CTX_set_tlsext_status_cb(3), for clients that ask, once the certificate is
 * chosen. */
static int show_staple(SSL *ssl, void *arg)
{
	const X509 *leaf = SSL_get_certificate(ssl);
	const struct tls_staple *s = leaf != NULL ? tls_staple_of(leaf) : NULL;
	unsigned char *copy;

	(void)arg;
	if (s == NULL || tls_staple_unfit(s, clock_wall().tv_sec) != NULL)
		return SSL_TLSEXT_ERR_NOACK;
	copy = OPENSSL_memdup(s->der, s->n);
	if (copy == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)s->n);
	return SSL_TLSEXT_ERR_OK;
}

bool tls_staple_use(SSL_CTX *ssl)
{
	return SSL_CTX_set_tlsext_status_cb(ssl, show_staple) == 1;
}
