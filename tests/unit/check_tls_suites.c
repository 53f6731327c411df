/* check_tls_suites: words of ciphers and groups, those that are none, and what an SSL_CTX has then.
 */
#include "tls/tls_ctx.h"

#include <openssl/err.h>

#include "unit_cert.h"
#include "unit_tls.h"

static const struct {
	const char *list, *bad; /* bad NULL: all are words */
} ciphers[] = {
	{ "auto", NULL },
	{ "ECDHE-RSA-AES128-GCM-SHA256", NULL },
	{ "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384", NULL },
	{ "TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-CHACHA20-POLY1305", NULL },
	{ "HIGH:!aNULL:!MD5", NULL },
	{ "ECDHE+AESGCM:-ECDSA:+AES256", NULL },
	{ "!3DES:!RC4:!EXPORT:!LOW:ECDHE, AES128-SHA", NULL },
	{ "@SECLEVEL=1:ECDHE-RSA-AES128-SHA", NULL },
	{ "ECDHE-RSA-AES128-GCM-SHA255", "\"ECDHE-RSA-AES128-GCM-SHA255\"" },
	{ "ECDHE-RSA-AES128-GCM-SHA256:nonsense:more", "\"nonsense\"" },
	{ "HIGH:!aNUL", "\"!aNUL\"" },
	{ "HIGH:RC4", "\"RC4\"" },
	{ "HIGH:!", "\"!\"" },
	{ "TLS_AES_128_GCM_SHA255", "\"TLS_AES_128_GCM_SHA255\"" },
	{ "TLS_AES_128_GCM_SHA256:TLS_", "\"TLS_\"" },
	{ "@SECLEVEL=9:HIGH", "\"@SECLEVEL=9\"" },
	{ "", "\"\"" },
	{ ":", "\"\"" },
}, groups[] = {
	{ "auto", NULL },
	{ "X25519", NULL },
	{ "prime256v1:secp384r1", NULL },
	{ "P-256:X25519", NULL },
	{ "X25519:P-255:P-256", "\"P-255\"" },
	{ "", "\"\"" },
};

static void holds(bool ok, const char *bad, const struct tls_fault *fault)
{
	ck_assert_msg(ok == (bad == NULL), "%s", fault->text);
	if (bad != NULL)
		ck_assert_msg(strstr(fault->text, bad) != NULL, "%s", fault->text);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}

TEST(words)
{
	struct tls_fault fault;

	for (size_t i = 0; i < sizeof(ciphers) / sizeof(ciphers[0]); i++)
		holds(tls_suites_check(ciphers[i].list, &fault), ciphers[i].bad, &fault);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		holds(tls_suites_check_groups(groups[i].list, &fault), groups[i].bad, &fault);
}

/* A list that does not end is a word that is too long, and no overflow. */
TEST(long_words)
{
	struct tls_fault fault;
	char list[9000];

	memset(list, 'A', sizeof(list) - 1);
	list[sizeof(list) - 1] = '\0';
	ck_assert(!tls_suites_check(list, &fault));
	ck_assert(!tls_suites_check_groups(list, &fault));
	memcpy(list, "TLS_", 4);
	ck_assert(!tls_suites_check(list, &fault));
}

static bool has(SSL_CTX *ssl, const char *name)
{
	STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ssl);

	for (int i = 0; i < sk_SSL_CIPHER_num(all); i++)
		if (strcmp(SSL_CIPHER_get_name(sk_SSL_CIPHER_value(all, i)), name) == 0)
			return true;
	return false;
}

TEST_EACH(use, 7)
{
	static const struct {
		const char *list, *has, *has_not;
	} cases[] = {
		{ "auto", "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-SHA" },
		{ "auto", "TLS_CHACHA20_POLY1305_SHA256", "AES128-GCM-SHA256" },
		{ "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-GCM-SHA256" },
		{ "ECDHE-RSA-AES128-SHA", "TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256" },
		{ "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256" },
		{ "TLS_AES_256_GCM_SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA" },
		{ "HIGH", "AES128-SHA", "ADH-AES128-SHA" },
	};
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());

	ck_assert(tls_suites_use(ssl, cases[_i].list));
	ck_assert(has(ssl, cases[_i].has));
	ck_assert(!has(ssl, cases[_i].has_not));
	SSL_CTX_free(ssl);
}

TEST(nobody_is_left)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());

	ck_assert(!tls_suites_use(ssl, "@SECLEVEL=0:aNULL"));
	ck_assert(!tls_suites_use(ssl, "HIGH:!ALL"));
	SSL_CTX_free(ssl);
	ERR_clear_error();
}

TEST(groups_used)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());

	ck_assert(tls_suites_use_groups(ssl, NULL));
	ck_assert(tls_suites_use_groups(ssl, "auto"));
	ck_assert(tls_suites_use_groups(ssl, "P-384:P-256"));
	ck_assert(!tls_suites_use_groups(ssl, "P-383"));
	SSL_CTX_free(ssl);
	ERR_clear_error();
}

/* The first group of both, in the order of the server: after a handshake in memory. */
static int first_shared(SSL_CTX *ssl, SSL_CTX *client_ctx)
{
	SSL *server = SSL_new(ssl), *client = SSL_new(client_ctx);
	int group = 0;

	if (unit_tls_shake(server, client))
		group = (int)SSL_get_shared_group(server, 0);
	SSL_free(client);
	SSL_free(server);
	return group;
}

/* The groups that a client offers; OpenSSL's macro takes no constant text. */
static void offer(SSL_CTX *client, const char *names)
{
	char list[64];

	snprintf(list, sizeof(list), "%s", names);
	ck_assert_int_eq(SSL_CTX_set1_groups_list(client, list), 1);
}

/* A client that takes all of them gets the hybrid group where this OpenSSL has it, else X25519. */
TEST(the_hybrid_group_comes_first)
{
	enum { HYBRID = 0x11ec }; /* X25519MLKEM768; OpenSSL has no NID of it */
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method()), *client = SSL_CTX_new(TLS_client_method());
	struct tls_fault fault;
	bool has_hybrid = tls_suites_check_groups("X25519MLKEM768", &fault);

	ck_assert_int_eq(
		SSL_CTX_use_certificate_file(ssl, unit_cert("ec.crt"), SSL_FILETYPE_PEM), 1);
	ck_assert_int_eq(
		SSL_CTX_use_PrivateKey_file(ssl, unit_cert("ec.key"), SSL_FILETYPE_PEM), 1);
	SSL_CTX_set_options(ssl, SSL_OP_CIPHER_SERVER_PREFERENCE);
	ck_assert(tls_suites_use_groups(ssl, "auto"));
	offer(client, has_hybrid ? "P-384:P-256:X25519:X25519MLKEM768" : "P-384:P-256:X25519");
	if (has_hybrid)
		ck_assert_int_eq(first_shared(ssl, client), TLSEXT_nid_unknown | HYBRID);
	else
		ck_assert_int_eq(first_shared(ssl, client), NID_X25519);
	offer(client, "P-384:P-256:X25519");
	ck_assert_int_eq(first_shared(ssl, client), NID_X25519);
	offer(client, "P-384:P-256");
	ck_assert_int_eq(first_shared(ssl, client), NID_X9_62_prime256v1);
	SSL_CTX_free(client);
	SSL_CTX_free(ssl);
	ERR_clear_error();
}
