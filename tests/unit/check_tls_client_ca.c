/*
 * check_tls_client_ca: what handshakes between two ends in memory find about a client. Its
 * certificates are self-signed, and each is an authority of its own.
 */
#include "tls/tls_client_ca.h"

#include <openssl/err.h>

#include "unit_cert.h"
#include "unit_tls.h"

enum { DAY_S = 86400, LONG = 3000 };

static EVP_PKEY *key;
static SSL_CTX *server_ctx, *client_ctx;
static struct tls_client client;

/* A certificate of key with that common name, for the client; and in file, for the server. */
static void make_client(const char *name, long ends_s, const char *file)
{
	X509 *x = X509_new();
	X509_NAME *subject = X509_get_subject_name(x);
	FILE *f;

	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -2 * DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(x), ends_s);
	X509_set_pubkey(x, key);
	/* One name may have 64 bytes: a long one is many. */
	for (size_t n = strlen(name), at = 0; at == 0 || at < n; at += 60)
		X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
			(const unsigned char *)name + at, n - at < 60 ? (int)(n - at) : 60, -1, 0);
	X509_set_issuer_name(x, subject);
	ck_assert_int_gt(X509_sign(x, key, EVP_sha256()), 0);
	ck_assert_int_eq(SSL_CTX_use_certificate(client_ctx, x), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey(client_ctx, key), 1);
	f = unit_cert_create(file);
	ck_assert_int_eq(PEM_write_X509(f, x), 1);
	fclose(f);
	X509_free(x);
}

static struct tls_client_ca *load(const char *file)
{
	struct tls_client_ca_fault fault;
	struct tls_client_ca *ca = tls_client_ca_load(unit_cert(file), "", &fault);

	ck_assert_msg(ca != NULL, "%s", fault.text);
	return ca;
}

UNIT_SETUP(setup)
{
	key = EVP_EC_gen("P-256");
	server_ctx = SSL_CTX_new(TLS_server_method());
	client_ctx = SSL_CTX_new(TLS_client_method());
	ck_assert_int_eq(
		SSL_CTX_use_certificate_file(server_ctx, unit_cert("ec.crt"), SSL_FILETYPE_PEM), 1);
	ck_assert_int_eq(
		SSL_CTX_use_PrivateKey_file(server_ctx, unit_cert("ec.key"), SSL_FILETYPE_PEM), 1);
	tls_client_ca_prepare(server_ctx);
}

UNIT_TEARDOWN(teardown)
{
	tls_client_clear(&client);
	SSL_CTX_free(server_ctx);
	SSL_CTX_free(client_ctx);
	EVP_PKEY_free(key);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}

/* A handshake that asks by before, and then by ca; what it finds is in client. */
static void shake(const struct tls_client_ca *before, const struct tls_client_ca *ca)
{
	SSL *server = SSL_new(server_ctx), *peer = SSL_new(client_ctx);

	ck_assert(tls_client_ca_ask(server, before) && tls_client_ca_ask(server, ca));
	ck_assert(unit_tls_shake(server, peer));
	ck_assert_ptr_eq(tls_client_ca_of(server), ca);
	tls_client_ca_find(server, &client);
	SSL_free(server);
	SSL_free(peer);
}

TEST(a_subject)
{
	struct tls_client_ca *ca;

	make_client("J\xc3\xbcrgen, x\\", DAY_S, "client.crt");
	ca = load("client.crt");
	shake(NULL, ca);
	ck_assert_str_eq(client.subject, "CN=J\\C3\\BCrgen\\, x\\\\");
	ck_assert_ptr_null(client.refused);
	tls_client_ca_free(&ca);
}

TEST(nobody_is_asked)
{
	struct tls_client_ca *ca;

	make_client("alice", DAY_S, "client.crt");
	ca = load("client.crt");
	/* A second ClientHello has asked for another name. */
	shake(ca, NULL);
	ck_assert(client.subject == NULL && client.refused == NULL);
	tls_client_ca_free(&ca);
}

TEST(of_others)
{
	struct tls_client_ca *ca = load("rsa.crt");

	make_client("alice", DAY_S, "client.crt");
	shake(NULL, ca);
	ck_assert_ptr_null(client.subject);
	ck_assert_str_eq(client.refused, "self-signed certificate (CN=alice)");
	tls_client_ca_free(&ca);
}

/* _i: a ticket was good when it was made; its certificate is not any more. */
TEST_EACH(expired, 2)
{
	struct tls_client_ca *ca;

	make_client("alice", -DAY_S, "client.crt");
	ca = load("client.crt");
	if (_i)
		X509_STORE_set_flags(ca->store, X509_V_FLAG_NO_CHECK_TIME);
	shake(NULL, ca);
	ck_assert_ptr_null(client.subject);
	ck_assert_str_eq(client.refused, "certificate has expired (CN=alice)");
	tls_client_ca_free(&ca);
}

TEST(a_long_subject)
{
	char name[LONG + 1];
	struct tls_client_ca *ca;

	memset(name, 'x', LONG);
	name[LONG] = '\0';
	make_client(name, DAY_S, "client.crt");
	ca = load("client.crt");
	shake(NULL, ca);
	ck_assert_ptr_null(client.subject);
	ck_assert_ptr_nonnull(strstr(client.refused, "its subject is too long"));
	tls_client_ca_free(&ca);
}

TEST(ids)
{
	struct tls_client_ca *ca, *same, *other = load("rsa.crt");

	make_client("alice", DAY_S, "client.crt");
	ca = load("client.crt");
	same = load("client.crt");
	ck_assert_mem_eq(ca->id, same->id, sizeof(ca->id));
	ck_assert_mem_ne(ca->id, other->id, sizeof(ca->id));
	tls_client_ca_free(&ca);
	tls_client_ca_free(&same);
	tls_client_ca_free(&other);
}
