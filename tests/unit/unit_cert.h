/*
 * unit_cert: keys and self-signed certificates made by OpenSSL for a test program, in a temporary
 * folder: ec.crt/ec.key, names.crt/names.key (with names and addresses), rsa.crt/rsa.key,
 * other.key, locked.key and locked-old.key (with a password, PKCS #8 and traditional), text (no
 * PEM).
 */
#pragma once

#include <dirent.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "tls/tls_ctx.h"
#include "unit.h"

static char unit_cert_dir[64];

/* The path of name, the same for the same name: certificates borrow it. */
static const char *unit_cert(const char *name)
{
	static char paths[64][sizeof(unit_cert_dir) + 256]; /* a name has 255 at most */
	char path[sizeof(paths[0])];
	unsigned i = 0;

	snprintf(path, sizeof(path), "%s/%s", unit_cert_dir, name);
	while (paths[i][0] != '\0' && strcmp(paths[i], path) != 0)
		ck_assert_uint_lt(++i, 64);
	return strcpy(paths[i], path);
}

static FILE *unit_cert_create(const char *name)
{
	FILE *f = fopen(unit_cert(name), "w");

	ck_assert_ptr_nonnull(f);
	return f;
}

/* names: "DNS:…,IP:…"; NULL for a certificate with a common name alone. */
static void unit_cert_write(
	EVP_PKEY *key, const char *cert_name, const char *key_name, const char *names)
{
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	static const unsigned char cn[] = "localhost";
	FILE *f;

	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, cn, -1, -1, 0);
	X509_set_issuer_name(x, name);
	if (names != NULL) {
		X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);

		ck_assert_int_eq(X509_add_ext(x, e, -1), 1);
		X509_EXTENSION_free(e);
	}
	ck_assert_int_gt(X509_sign(x, key, EVP_sha256()), 0);
	f = unit_cert_create(cert_name);
	ck_assert_int_eq(PEM_write_X509(f, x), 1);
	fclose(f);
	f = unit_cert_create(key_name);
	ck_assert_int_eq(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
	X509_free(x);
}

static void unit_certs_make(void)
{
	EVP_PKEY *ec = EVP_EC_gen("P-256"), *rsa = EVP_RSA_gen(2048), *other = EVP_EC_gen("P-256");
	unsigned char word[] = "secret";
	BIO *bio;
	FILE *f;

	snprintf(unit_cert_dir, sizeof(unit_cert_dir), "/tmp/h2d-cert-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(unit_cert_dir));
	unit_cert_write(ec, "ec.crt", "ec.key", NULL);
	unit_cert_write(rsa, "rsa.crt", "rsa.key", NULL);
	unit_cert_write(other, "names.crt", "names.key",
		"DNS:a.example,DNS:*.b.example,IP:192.0.2.1,IP:2001:db8::1");
	f = unit_cert_create("other.key");
	ck_assert_int_eq(PEM_write_PrivateKey(f, other, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
	f = unit_cert_create("locked.key");
	ck_assert_int_eq(PEM_write_PrivateKey(f, ec, EVP_aes_128_cbc(), word, 6, NULL, NULL), 1);
	fclose(f);
	bio = BIO_new_file(unit_cert("locked-old.key"), "w");
	ck_assert_int_eq(PEM_write_bio_PrivateKey_traditional(
				 bio, ec, EVP_aes_128_cbc(), word, 6, NULL, NULL),
		1);
	BIO_free(bio);
	f = unit_cert_create("text");
	fputs("no PEM in here\n", f);
	fclose(f);
	EVP_PKEY_free(ec);
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(other);
}

/* The certificate in cert with the key in key, both names in the folder. */
__attribute__((unused)) static const struct tls_cert *unit_cert_add(
	struct tls_ctx *ctx, const char *cert, const char *key, struct tls_fault *fault)
{
	return tls_ctx_add(
		ctx, &(struct tls_files){ { unit_cert(cert), unit_cert(key), "" } }, 1, fault);
}

/* A list of what the authority of that certificate and key has revoked: serial numbers 1 to n. */
__attribute__((unused)) static void unit_cert_revoke(
	const char *cert_name, const char *key_name, const char *list_name, long n)
{
	FILE *cert = fopen(unit_cert(cert_name), "r"), *secret = fopen(unit_cert(key_name), "r"),
	     *f;
	X509 *x = PEM_read_X509(cert, NULL, NULL, NULL);
	EVP_PKEY *key = PEM_read_PrivateKey(secret, NULL, NULL, NULL);
	ASN1_TIME *from = X509_gmtime_adj(NULL, -3600), *until = X509_gmtime_adj(NULL, 86400);
	X509_CRL *list = X509_CRL_new();

	X509_CRL_set_version(list, X509_CRL_VERSION_2);
	X509_CRL_set_issuer_name(list, X509_get_subject_name(x));
	X509_CRL_set1_lastUpdate(list, from);
	X509_CRL_set1_nextUpdate(list, until);
	for (long i = 1; i <= n; i++) {
		ASN1_INTEGER *serial = ASN1_INTEGER_new();
		X509_REVOKED *one = X509_REVOKED_new();

		ASN1_INTEGER_set(serial, i);
		X509_REVOKED_set_serialNumber(one, serial);
		X509_REVOKED_set_revocationDate(one, from);
		ck_assert_int_eq(X509_CRL_add0_revoked(list, one), 1);
		ASN1_INTEGER_free(serial);
	}
	ck_assert_int_gt(X509_CRL_sign(list, key, EVP_sha256()), 0);
	f = unit_cert_create(list_name);
	ck_assert_int_eq(PEM_write_X509_CRL(f, list), 1);
	fclose(f);
	fclose(cert);
	fclose(secret);
	X509_CRL_free(list);
	ASN1_TIME_free(from);
	ASN1_TIME_free(until);
	EVP_PKEY_free(key);
	X509_free(x);
}

static void unit_certs_remove(void)
{
	DIR *dir = opendir(unit_cert_dir);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		unlink(unit_cert(entry->d_name));
	if (dir != NULL)
		closedir(dir);
	rmdir(unit_cert_dir);
}

UNIT_FIXTURE_ONCE(unit_certs_make, unit_certs_remove)
