/*
 * tls_client_ca: reads authorities and lists into an X509_STORE, and gets clients' certificates
 * from OpenSSL.
 */
#include "tls/tls_client_ca.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls/tls_cert.h"
#include "tls/tls_memory.h"

enum {
	/* Bytes of a certificate and its chain: in memory as long as the connection. */
	CHAIN_MAX = 32 << 10,
	SUBJECT_MAX = 2048,
	SUBJECT_LOGGED = 200,
};

/* --- doubts ----------------------------------------------------------------------------------- */

static bool has_list(X509_STORE *store, const X509 *authority)
{
	STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);

	for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
		const X509_CRL *list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i));

		if (list != NULL && X509_NAME_cmp(X509_CRL_get_issuer(list),
					    X509_get_subject_name(authority)) == 0)
			return true;
	}
	return false;
}

const char *tls_client_ca_doubt(const struct tls_client_ca *ca, int64_t now, char *buf, size_t size)
{
	STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(ca->store);

	for (int i = 0; *ca->crl != '\0' && i < sk_X509_OBJECT_num(all); i++) {
		const X509_OBJECT *object = sk_X509_OBJECT_value(all, i);
		const X509 *authority = X509_OBJECT_get0_X509(object);
		const X509_CRL *list = X509_OBJECT_get0_X509_CRL((X509_OBJECT *)(uintptr_t)object);
		char name[256];
		int64_t next;

		X509_NAME_oneline(authority != NULL ? X509_get_subject_name(authority)
						    : X509_CRL_get_issuer(list),
			name, sizeof(name));
		next = authority == NULL ? tls_cert_seconds(X509_CRL_get0_nextUpdate(list)) : 0;
		if (authority != NULL ? has_list(ca->store, authority) : next == 0 || next > now)
			continue;
		snprintf(buf, size,
			"client-crl %.200s: the list of %s is %s: its clients are refused", ca->crl,
			name, authority != NULL ? "missing" : "outdated");
		return buf;
	}
	return NULL;
}

/* --- handshakes ------------------------------------------------------------------------------- */

/* The outcome stays in store, and so in the SSL and its session: SSL_get_verify_result(3). */
static int check_chain(X509_STORE_CTX *store, void *arg)
{
	(void)arg;
	if (X509_verify_cert(store) <= 0 && X509_STORE_CTX_get_error(store) == X509_V_OK)
		X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED);
	/* SSL_get_error(3) would report them for the handshake. */
	ERR_clear_error();
	return 1;
}

void tls_client_ca_prepare(SSL_CTX *ssl)
{
	SSL_CTX_set_cert_verify_callback(ssl, check_chain, NULL);
	SSL_CTX_set_max_cert_list(ssl, CHAIN_MAX);
}

bool tls_client_ca_ask(SSL *ssl, const struct tls_client_ca *ca)
{
	STACK_OF(X509_NAME) * names;

	if (ca == NULL && tls_client_ca_of(ssl) == NULL)
		return true;
	/* A second ClientHello may contain another name than the first. */
	SSL_set_verify(ssl, ca != NULL ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	if (SSL_set_app_data(ssl, (void *)(uintptr_t)ca) != 1)
		return false;
	if (ca == NULL)
		return true;
	names = SSL_dup_CA_list(ca->names);
	if (names == NULL)
		return false;
	SSL_set_client_CA_list(ssl, names);
	return SSL_set1_verify_cert_store(ssl, ca->store) == 1;
}

const struct tls_client_ca *tls_client_ca_of(const SSL *ssl)
{
	return SSL_get_app_data(ssl);
}

/* RFC 4514, 2, in printable ASCII; NULL: too long, or memory is out. */
static char *subject_text(const X509 *leaf)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *p, *text = NULL;
	long n;

	if (out != NULL &&
		X509_NAME_print_ex(out, X509_get_subject_name(leaf), 0, XN_FLAG_RFC2253) >= 0) {
		n = BIO_get_mem_data(out, &p);
		if (n >= 0 && n <= SUBJECT_MAX)
			text = strndup(n > 0 ? p : "", (size_t)n);
	}
	BIO_free(out);
	ERR_clear_error();
	return text;
}

void tls_client_ca_find(SSL *ssl, struct tls_client *client)
{
	const X509 *leaf = SSL_get0_peer_certificate(ssl);
	long rc = SSL_get_verify_result(ssl);

	if (tls_client_ca_of(ssl) == NULL || leaf == NULL)
		return;
	/* A ticket may be valid for longer than its certificate. */
	if (rc == X509_V_OK && X509_cmp_current_time(X509_get0_notAfter(leaf)) < 0)
		rc = X509_V_ERR_CERT_HAS_EXPIRED;
	client->subject = subject_text(leaf);
	if (rc == X509_V_OK && client->subject != NULL)
		return;
	if (asprintf(&client->refused, "%s (%.*s)",
		    rc == X509_V_OK ? "its subject is too long" : X509_verify_cert_error_string(rc),
		    SUBJECT_LOGGED, client->subject != NULL ? client->subject : "") < 0)
		client->refused = NULL;
	free(client->subject);
	client->subject = NULL;
}

void tls_client_clear(struct tls_client *client)
{
	free(client->subject);
	free(client->refused);
	*client = (struct tls_client){ 0 };
}

/* --- content of the files --------------------------------------------------------------------- */

static bool add_name(struct tls_client_ca *ca, const X509 *authority)
{
	X509_NAME *name = X509_NAME_dup(X509_get_subject_name(authority));

	if (name != NULL && sk_X509_NAME_push(ca->names, name) > 0)
		return true;
	X509_NAME_free(name);
	return false;
}

/* Makes an empty one; NULL: memory is out. */
static struct tls_client_ca *new_ca(const char *file, const char *crl)
{
	struct tls_client_ca *ca = calloc(1, sizeof(*ca));
	unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN;
	bool ok = false;

	/* Like nginx: each authority of the chain needs a revocation list. Certificates in the file
	 * are trusted, also those of an authority below another. */
	if (*crl != '\0')
		flags |= X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;

	if (ca != NULL) {
		ca->file = file;
		ca->crl = crl;
		ca->store = X509_STORE_new();
		ca->names = sk_X509_NAME_new_null();
		ok = ca->store != NULL && ca->names != NULL &&
		     X509_STORE_set_flags(ca->store, flags) == 1;
	}
	if (!ok)
		tls_client_ca_free(&ca);
	return ca;
}

void tls_client_ca_free(struct tls_client_ca **cap)
{
	struct tls_client_ca *ca = *cap;

	if (ca == NULL)
		return;
	*cap = NULL;
	X509_STORE_free(ca->store);
	sk_X509_NAME_pop_free(ca->names, X509_NAME_free);
	free(ca);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Adds the next object of its kind in in, with its digest in id: 1, 0 at the end, -1. */
typedef int add_next(struct tls_client_ca *ca, BIO *in, unsigned char id[SHA256_DIGEST_LENGTH]);

/* True if the last error means that none of that kind follows. */
static bool is_end(void)
{
	unsigned long e = ERR_peek_last_error();

	return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

static int next_authority(struct tls_client_ca *ca, BIO *in, unsigned char id[SHA256_DIGEST_LENGTH])
{
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
	bool ok;

	if (x == NULL)
		return is_end() ? 0 : -1;
	ok = X509_digest(x, EVP_sha256(), id, NULL) == 1 &&
	     X509_STORE_add_cert(ca->store, x) == 1 && add_name(ca, x);
	X509_free(x);
	return ok ? 1 : -1;
}

static int next_list(struct tls_client_ca *ca, BIO *in, unsigned char id[SHA256_DIGEST_LENGTH])
{
	X509_CRL *list = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL);
	ASN1_INTEGER *serial;
	X509_REVOKED *found;
	bool ok;

	if (list == NULL)
		return is_end() ? 0 : -1;
	ok = X509_CRL_digest(list, EVP_sha256(), id, NULL) == 1 &&
	     X509_STORE_add_crl(ca->store, list) == 1;
	/* OpenSSL sorts a list at the first look-up: not during a handshake. */
	serial = ASN1_INTEGER_new();
	if (serial != NULL)
		X509_CRL_get0_by_serial(list, &found, serial);
	ASN1_INTEGER_free(serial);
	X509_CRL_free(list);
	return ok ? 1 : -1;
}

/* Adds all of one kind in the file; NULL, or why they cannot be read. */
static const char *add_all(
	struct tls_client_ca *ca, const char *file, EVP_MD_CTX *md, add_next *add, const char *none)
{
	unsigned char id[SHA256_DIGEST_LENGTH];
	BIO *in;
	int rc = -1, n = 0;

	ERR_clear_error();
	in = BIO_new_file(file, "r");
	while (in != NULL && (rc = add(ca, in, id)) > 0) {
		if (EVP_DigestUpdate(md, id, sizeof(id)) != 1) {
			rc = -1;
			break;
		}
		n++;
	}
	BIO_free(in);
	if (rc < 0)
		return tls_cert_reason();
	ERR_clear_error();
	return n > 0 ? NULL : none;
}

static bool read_files(struct tls_client_ca *ca, EVP_MD_CTX *md, struct tls_client_ca_fault *fault)
{
	const char *why =
		add_all(ca, ca->file, md, next_authority, "the file has no PEM certificate");

	if (why == NULL && *ca->crl != '\0') {
		fault->in_crl = true;
		why = add_all(ca, ca->crl, md, next_list, "the file has no PEM revocation list");
	}
	if (why != NULL)
		snprintf(fault->text, sizeof(fault->text), "%s %.300s: %s",
			fault->in_crl ? "client-crl" : "client-ca",
			fault->in_crl ? ca->crl : ca->file, why);
	ERR_clear_error();
	return why == NULL;
}

struct tls_client_ca *tls_client_ca_load(
	const char *file, const char *crl, struct tls_client_ca_fault *fault)
{
	struct tls_client_ca *ca = new_ca(file, crl);
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned failures = tls_memory_failures();
	bool ok;

	*fault = (struct tls_client_ca_fault){ .text = "TLS: out of memory" };
	ok = ca != NULL && md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	     read_files(ca, md, fault) && EVP_DigestFinal_ex(md, ca->id, NULL) == 1;
	/* An incomplete list would admit a revoked client. */
	if (ok && tls_memory_failures() != failures) {
		*fault = (struct tls_client_ca_fault){ .text = "TLS: out of memory" };
		ok = false;
	}
	EVP_MD_CTX_free(md);
	if (!ok)
		tls_client_ca_free(&ca);
	return ca;
}
