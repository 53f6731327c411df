/*
 * tls_client_ca_load: authorities and lists on their way from files into an X509_STORE, in the
 * master. Client_cas calls it. It keeps no file open.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls/tls_client_ca.h"
#include "tls/tls_memory.h"

/* --- what is in them -------------------------------------------------------------------------- */

static bool add_name(struct tls_client_ca *ca, const X509 *authority)
{
	X509_NAME *name = X509_NAME_dup(X509_get_subject_name(authority));

	if (name != NULL && sk_X509_NAME_push(ca->names, name) > 0)
		return true;
	X509_NAME_free(name);
	return false;
}

/* Takes x. */
static bool add_authority(struct tls_client_ca *ca, X509 *x)
{
	bool ok = x != NULL && X509_STORE_add_cert(ca->store, x) == 1 && add_name(ca, x);

	X509_free(x);
	return ok;
}

/* OpenSSL sorts a list when it looks something up for the first time: not during a handshake. */
static void sort(X509_CRL *list)
{
	ASN1_INTEGER *serial = ASN1_INTEGER_new();
	X509_REVOKED *found;

	if (serial != NULL)
		X509_CRL_get0_by_serial(list, &found, serial);
	ASN1_INTEGER_free(serial);
}

/* Takes list. */
static bool add_list(struct tls_client_ca *ca, X509_CRL *list)
{
	bool ok = list != NULL && X509_STORE_add_crl(ca->store, list) == 1;

	if (ok)
		sort(list);
	X509_CRL_free(list);
	return ok;
}

/* As nginx has it: each authority on the way up says by a list what it has revoked. What is in the
 * file is trusted as it stands, an authority of another one, too. */
static bool set_flags(struct tls_client_ca *ca)
{
	unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN;

	if (*ca->crl != '\0')
		flags |= X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
	return X509_STORE_set_flags(ca->store, flags) == 1;
}

/* Without anything in it; NULL: memory is out. */
static struct tls_client_ca *new (const char *file, const char *crl)
{
	struct tls_client_ca *ca = calloc(1, sizeof(*ca));
	bool ok = false;

	if (ca != NULL) {
		ca->file = strdup(file);
		ca->crl = strdup(crl);
		ca->store = X509_STORE_new();
		ca->names = sk_X509_NAME_new_null();
		ok = ca->file != NULL && ca->crl != NULL && ca->store != NULL &&
		     ca->names != NULL && set_flags(ca);
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
	free(ca->file);
	free(ca->crl);
	free(ca);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Adds what in holds of its kind next: 1, 0 at the end, -1. */
typedef int add_next(struct tls_client_ca *ca, BIO *in, EVP_MD_CTX *md);

/* Whether the last error says that nothing of that kind follows. */
static bool is_end(void)
{
	unsigned long e = ERR_peek_last_error();

	return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

static int next_authority(struct tls_client_ca *ca, BIO *in, EVP_MD_CTX *md)
{
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
	unsigned char id[SHA256_DIGEST_LENGTH];
	bool ok;

	if (x == NULL)
		return is_end() ? 0 : -1;
	ok = X509_digest(x, EVP_sha256(), id, NULL) == 1 &&
	     EVP_DigestUpdate(md, id, sizeof(id)) == 1;
	return add_authority(ca, x) && ok ? 1 : -1;
}

static int next_list(struct tls_client_ca *ca, BIO *in, EVP_MD_CTX *md)
{
	X509_CRL *list = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL);
	unsigned char id[SHA256_DIGEST_LENGTH];
	bool ok;

	if (list == NULL)
		return is_end() ? 0 : -1;
	ok = X509_CRL_digest(list, EVP_sha256(), id, NULL) == 1 &&
	     EVP_DigestUpdate(md, id, sizeof(id)) == 1;
	return add_list(ca, list) && ok ? 1 : -1;
}

/* By the first error, which is the one nearest to the cause. */
static const char *reason(void)
{
	unsigned long e = ERR_peek_error();
	const char *text = ERR_reason_error_string(e);

	if (ERR_GET_LIB(e) == ERR_LIB_SYS)
		return strerror(ERR_GET_REASON(e));
	return text != NULL ? text : "unknown error";
}

/* All of one kind that are in the file; NULL, or why they cannot be read. */
static const char *add_all(
	struct tls_client_ca *ca, const char *file, EVP_MD_CTX *md, add_next *add, const char *none)
{
	BIO *in;
	int rc = -1, n = 0;

	ERR_clear_error();
	in = BIO_new_file(file, "r");
	while (in != NULL && (rc = add(ca, in, md)) > 0)
		n++;
	BIO_free(in);
	if (rc < 0)
		return reason();
	ERR_clear_error();
	return n > 0 ? NULL : none;
}

static bool read_files(struct tls_client_ca *ca, EVP_MD_CTX *md, struct tls_client_ca_fault *fault)
{
	const char *why =
		add_all(ca, ca->file, md, next_authority, "there is no certificate in it, in PEM");

	if (why == NULL && *ca->crl != '\0') {
		fault->in_crl = true;
		why = add_all(ca, ca->crl, md, next_list,
			"there is no list of revoked certificates in it, in PEM");
	}
	if (why != NULL)
		snprintf(fault->text, sizeof(fault->text), "%s %.300s: %s",
			fault->in_crl ? "crl" : "client-ca", fault->in_crl ? ca->crl : ca->file,
			why);
	ERR_clear_error();
	return why == NULL;
}

struct tls_client_ca *tls_client_ca_load(
	const char *file, const char *crl, struct tls_client_ca_fault *fault)
{
	struct tls_client_ca *ca = new (file, crl);
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned failures = tls_memory_failures();
	bool ok;

	*fault = (struct tls_client_ca_fault){ .text = "TLS: out of memory" };
	ok = ca != NULL && md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	     read_files(ca, md, fault) && EVP_DigestFinal_ex(md, ca->id, NULL) == 1;
	/* A list that something of is missing would let in who is revoked. */
	if (ok && tls_memory_failures() != failures) {
		*fault = (struct tls_client_ca_fault){ .text = "TLS: out of memory" };
		ok = false;
	}
	EVP_MD_CTX_free(md);
	if (!ok)
		tls_client_ca_free(&ca);
	return ca;
}
