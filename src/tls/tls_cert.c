/* tls_cert: a key with a password is refused; no terminal is asked for it. */
#include "tls/tls_cert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_read.h"
#include "tls/tls_memory.h"
#include "tls/tls_staple.h"

enum { KEY_TEXT_MAX = 64 << 10 };

const char *tls_cert_reason(void)
{
	unsigned long e = ERR_peek_error();
	const char *text;

	if (ERR_GET_LIB(e) == ERR_LIB_SYS)
		return strerror(ERR_GET_REASON(e));
	if ((ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE) ||
		(ERR_GET_LIB(e) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(e) == ERR_R_UNSUPPORTED))
		return "the file has no such PEM block";
	text = ERR_reason_error_string(e);
	return text != NULL ? text : "unknown error";
}

/* Called for an encrypted PEM block: notes it, and gives up. */
static int no_password(char *buf, int size, int rwflag, void *prompted)
{
	(void)buf, (void)size, (void)rwflag;
	if (prompted != NULL)
		*(bool *)prompted = true;
	return -1;
}

static const char *kind_of(const EVP_PKEY *key)
{
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_EC:
		return "ecdsa";
	case EVP_PKEY_RSA:
		return "rsa";
	case EVP_PKEY_RSA_PSS:
		return "rsa-pss";
	case EVP_PKEY_ED25519:
		return "ed25519";
	case EVP_PKEY_ED448:
		return "ed448";
	default:
		return "other";
	}
}

/* OpenSSL has room for one of each kind: another would replace it. */
static bool is_alone(const struct tls_cert *c, const struct tls_pair *p, struct tls_fault *fault)
{
	for (const struct tls_pair *other = c->pairs; other < p; other++) {
		if (strcmp(other->kind, p->kind) != 0)
			continue;
		snprintf(fault->text, sizeof(fault->text),
			"certificate %s has the same type of key as %s (%s): h2d would never send "
			"one of them",
			p->files[TLS_FILE_CERTIFICATE], other->files[TLS_FILE_CERTIFICATE],
			p->kind);
		return false;
	}
	return true;
}

/* Loads the next pair of c: p. */
static bool load_certificate(struct tls_cert *c, struct tls_pair *p, struct tls_fault *fault)
{
	fault->in = TLS_FILE_CERTIFICATE;
	SSL_CTX_set_default_passwd_cb(c->ssl, no_password);
	if (SSL_CTX_use_certificate_chain_file(c->ssl, p->files[TLS_FILE_CERTIFICATE]) != 1) {
		snprintf(fault->text, sizeof(fault->text), "certificate %s: %s",
			p->files[TLS_FILE_CERTIFICATE], tls_cert_reason());
		return false;
	}
	c->npairs++;
	p->leaf = SSL_CTX_get0_certificate(c->ssl);
	X509_up_ref(p->leaf);
	p->kind = kind_of(X509_get0_pubkey(p->leaf));
	p->expires = tls_cert_seconds(X509_get0_notAfter(p->leaf));
	return is_alone(c, p, fault);
}

static EVP_PKEY *parse_key(const char *text, size_t n, bool *prompted)
{
	BIO *bio = BIO_new_mem_buf(text, (int)n);
	EVP_PKEY *key = NULL;

	tls_memory_wipe(true);
	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_password, prompted);
	tls_memory_wipe(false);
	BIO_free(bio);
	return key;
}

/* Not by BIO_new_file(): stdio would leave the text of the key in a buffer unwiped. A larger file
 * is cut, and no PEM block then. */
static EVP_PKEY *read_key(const char *file, struct tls_fault *fault)
{
	char text[KEY_TEXT_MAX];
	ssize_t n = file_read(file, text, sizeof(text));
	bool prompted = false;
	EVP_PKEY *key = n >= 0 ? parse_key(text, (size_t)n, &prompted) : NULL;

	explicit_bzero(text, sizeof(text));
	if (key == NULL)
		snprintf(fault->text, sizeof(fault->text), "certificate-key %s: %s", file,
			n < 0      ? strerror((int)-n)
			: prompted ? "the key is encrypted: remove its password"
				   : tls_cert_reason());
	return key;
}

static bool load_key(struct tls_cert *c, const struct tls_pair *p, struct tls_fault *fault)
{
	EVP_PKEY *key;
	bool ok;

	fault->in = TLS_FILE_KEY;
	key = read_key(p->files[TLS_FILE_KEY], fault);
	if (key == NULL)
		return false;
	/* OpenSSL would keep a key of another kind for a later certificate. */
	ok = X509_check_private_key(p->leaf, key) == 1 && SSL_CTX_use_PrivateKey(c->ssl, key) == 1;
	EVP_PKEY_free(key);
	if (!ok)
		snprintf(fault->text, sizeof(fault->text),
			"certificate-key %s does not match certificate %s (%s)",
			p->files[TLS_FILE_KEY], p->files[TLS_FILE_CERTIFICATE], tls_cert_reason());
	return ok;
}

/* The issuer: itself, or the next one in its file; NULL: neither. The SSL_CTX owns it. */
static X509 *issuer_of(const struct tls_cert *c, const struct tls_pair *p)
{
	STACK_OF(X509) *chain = NULL;
	X509 *next;

	SSL_CTX_get0_chain_certs(c->ssl, &chain);
	next = chain != NULL && sk_X509_num(chain) > 0 ? sk_X509_value(chain, 0) : p->leaf;
	return X509_check_issued(next, p->leaf) == X509_V_OK ? next : NULL;
}

/* Called while p is the last certificate loaded. */
static bool load_staple(const struct tls_cert *c, const struct tls_pair *p, struct tls_fault *fault)
{
	const char *file = p->files[TLS_FILE_STAPLE];
	const char *why = *file != '\0' ? tls_staple_load(file, p->leaf, issuer_of(c, p)) : NULL;

	fault->in = TLS_FILE_STAPLE;
	if (why != NULL)
		snprintf(fault->text, sizeof(fault->text), "stapling-file %s: %s", file, why);
	return why == NULL;
}

/* --- identity --------------------------------------------------------------------------------- */

/* Digests the subject and all other names. */
static bool digest_identity(EVP_MD_CTX *md, const struct tls_pair *p)
{
	X509_NAME *name = X509_get_subject_name(p->leaf);
	int at = X509_get_ext_by_NID(p->leaf, NID_subject_alt_name, -1);
	const ASN1_OCTET_STRING *names = NULL;
	unsigned char one[SHA256_DIGEST_LENGTH];

	if (at >= 0)
		names = X509_EXTENSION_get_data(X509_get_ext(p->leaf, at));
	return X509_NAME_digest(name, EVP_sha256(), one, NULL) == 1 &&
	       EVP_DigestUpdate(md, one, sizeof(one)) == 1 &&
	       (names == NULL || EVP_DigestUpdate(md, ASN1_STRING_get0_data(names),
					 (size_t)ASN1_STRING_length(names)) == 1);
}

static bool make_id(struct tls_cert *c)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok = md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1;

	for (unsigned i = 0; ok && i < c->npairs; i++)
		ok = digest_identity(md, &c->pairs[i]);
	ok = ok && EVP_DigestFinal_ex(md, c->id, NULL) == 1;
	EVP_MD_CTX_free(md);
	return ok;
}

/* --- files ------------------------------------------------------------------------------------ */

struct tls_cert *tls_cert_load(
	SSL_CTX *ssl, const struct tls_files *files, unsigned n, struct tls_fault *fault)
{
	struct tls_cert *c = calloc(1, sizeof(*c) + n * sizeof(c->pairs[0]));
	bool ok = c != NULL;

	*fault = (struct tls_fault){ 0 };
	ERR_clear_error();
	snprintf(fault->text, sizeof(fault->text), "TLS: %s", strerror(ENOMEM));
	if (c == NULL)
		SSL_CTX_free(ssl);
	else
		c->ssl = ssl;
	while (ok && c->npairs < n) {
		struct tls_pair *p = &c->pairs[c->npairs];

		memcpy(p->files, files[c->npairs].name, sizeof(p->files));
		ok = load_certificate(c, p, fault) && load_key(c, p, fault) &&
		     load_staple(c, p, fault);
	}
	if (ok && make_id(c))
		return c;
	ERR_clear_error();
	tls_cert_free(&c);
	return NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

bool tls_pair_covers(const struct tls_pair *p, struct slice host)
{
	bool v6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	unsigned char ip[16];
	char text[256];

	if (v6)
		host = slice_of(host.p + 1, host.n - 2);
	if (host.n == 0 || host.n >= sizeof(text) || memchr(host.p, '\0', host.n) != NULL)
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	if (v6 || inet_pton(AF_INET, text, ip) == 1)
		return X509_check_ip_asc(p->leaf, text, 0) == 1;
	/* RFC 9110, 4.3.4: the subject's common name is no name of a host. */
	return X509_check_host(p->leaf, text, host.n, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) ==
	       1;
}

bool tls_cert_covers(const struct tls_cert *c, struct slice host)
{
	for (unsigned i = 0; i < c->npairs; i++)
		if (!tls_pair_covers(&c->pairs[i], host))
			return false;
	return true;
}

void tls_cert_free(struct tls_cert **cp)
{
	struct tls_cert *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	SSL_CTX_free(c->ssl);
	for (unsigned i = 0; i < c->npairs; i++)
		X509_free(c->pairs[i].leaf);
	free(c);
}

/* --- the chain to the root -------------------------------------------------------------------- */

/* True if the system trusts its issuer. */
static bool is_issuer_trusted(X509 *cert)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *issuer = NULL;
	bool found = store != NULL && ctx != NULL && X509_STORE_set_default_paths(store) == 1 &&
		     X509_STORE_CTX_init(ctx, store, cert, NULL) == 1 &&
		     X509_STORE_CTX_get1_issuer(&issuer, ctx, cert) == 1;

	X509_free(issuer);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return found;
}

const char *tls_pair_doubt(const struct tls_cert *c, const struct tls_pair *p)
{
	STACK_OF(X509) *chain = NULL;
	X509 *cert = p->leaf;

	SSL_CTX_select_current_cert(c->ssl, cert);
	SSL_CTX_get0_chain_certs(c->ssl, &chain);
	for (int i = 0; i < sk_X509_num(chain); i++) {
		X509 *next = sk_X509_value(chain, i);

		if (X509_check_issued(next, cert) != X509_V_OK)
			return "clients may refuse it: put each issuer's certificate after the one "
			       "that it signed";
		cert = next;
	}
	if (X509_NAME_cmp(X509_get_subject_name(cert), X509_get_issuer_name(cert)) == 0 ||
		is_issuer_trusted(cert))
		return NULL;
	return "clients may refuse it: add the issuer's certificate to the file (certbot: use "
	       "fullchain.pem)";
}
