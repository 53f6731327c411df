/*
 * tls_client_ca: asks OpenSSL about clients' certificates. Tls_ctx has handshakes ask by it, and
 * tls takes what was found. How authorities come into memory is in tls_client_ca_load.c.
 */
#include "tls/tls_client_ca.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	/* Bytes of a certificate and its chain: they lie in memory as long as the connection. */
	CHAIN_MAX = 32 << 10,
	SUBJECT_MAX = 2048,
	SUBJECT_LOGGED = 200,
};

/* --- doubts ----------------------------------------------------------------------------------- */

static bool is_late(const X509_CRL *list, int64_t now)
{
	const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);
	struct tm tm;

	return next != NULL && ASN1_TIME_to_tm(next, &tm) == 1 && timegm(&tm) <= now;
}

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

		X509_NAME_oneline(authority != NULL ? X509_get_subject_name(authority)
						    : X509_CRL_get_issuer(list),
			name, sizeof(name));
		if (authority != NULL ? has_list(ca->store, authority) : !is_late(list, now))
			continue;
		snprintf(buf, size, "crl %.200s: the list of %s is %s: its clients are refused",
			ca->crl, name, authority != NULL ? "not in it" : "too old");
		return buf;
	}
	return NULL;
}

/* --- handshakes ------------------------------------------------------------------------------- */

/* The outcome stays in store, and so in the SSL and its session: SSL_get_verify_result(3). */
static int check(X509_STORE_CTX *store, void *arg)
{
	(void)arg;
	if (X509_verify_cert(store) <= 0 && X509_STORE_CTX_get_error(store) == X509_V_OK)
		X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED);
	/* SSL_get_error(3) would take them for the handshake's. */
	ERR_clear_error();
	return 1;
}

void tls_client_ca_prepare(SSL_CTX *ssl)
{
	SSL_CTX_set_cert_verify_callback(ssl, check, NULL);
	SSL_CTX_set_max_cert_list(ssl, CHAIN_MAX);
}

bool tls_client_ca_ask(SSL *ssl, const struct tls_client_ca *ca)
{
	STACK_OF(X509_NAME) * names;

	if (ca == NULL && tls_client_ca_of(ssl) == NULL)
		return true;
	/* A second ClientHello may ask for another name than the first. */
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

/* RFC 4514, 2, in printable ASCII; NULL: it is too long, or memory is out. */
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
	/* A ticket may be good for longer than the certificate that it is for. */
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
