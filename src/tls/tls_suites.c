/* tls_suites: reads each word alone, because OpenSSL ignores one that it does not know. */
#include "tls/tls_suites.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 4096 };

static const char separators[] = ":,; ";

/* RFC 9113, 9.2.2 and appendix A: ephemeral keys and AEAD. */
static const char suites_tls12[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
				   "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
				   "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
static const char no_one_must[] = ":!aNULL:!eNULL";
static const char suites_tls13[] =
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/*
 * The first list needs OpenSSL 3.5. A client that sends a key for the hybrid group needs secrecy
 * for decades; for all others X25519 is the cheapest for the server.
 */
static const char *const automatic[] = { "X25519MLKEM768:X25519:P-256:P-384",
	"X25519:P-256:P-384" };

/* Words excluded to be safe, "!RC4", whose suites OpenSSL no longer has. */
static const char *const gone[] = { "3DES", "DES", "EXP", "EXPORT", "EXPORT40", "EXPORT56", "IDEA",
	"KRB5", "LOW", "MEDIUM", "RC2", "RC4", "SEED", "SSLv2", "aECDH", "kDH", "kDHd", "kDHr",
	"kECDH", "kECDHe", "kECDHr" };

static bool is_auto(const char *list)
{
	return list == NULL || strcmp(list, "auto") == 0;
}

static bool is_tls13(struct slice word)
{
	return slice_starts(word, SLICE("TLS_"));
}

/* --- words ------------------------------------------------------------------------------------ */

/* Anonymous and weak suites count, too; the level of security excludes them. */
static bool is_class(SSL_CTX *ssl, struct slice word)
{
	char text[128];

	if (word.n == 0 || word.n > sizeof(text) - 32)
		return false;
	snprintf(text, sizeof(text), "%.*s:@SECLEVEL=0", SLICE_ARG(word));
	return SSL_CTX_set_cipher_list(ssl, text) == 1;
}

static bool is_gone(struct slice word)
{
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (slice_eq(word, slice_str(gone[i])))
			return true;
	return false;
}

static bool is_command(struct slice word)
{
	return slice_eq(word, SLICE("@STRENGTH")) ||
	       (slice_starts(word, SLICE("@SECLEVEL=")) && word.n == 11 && word.p[10] >= '0' &&
		       word.p[10] <= '5');
}

static bool is_suite(SSL_CTX *ssl, struct slice word)
{
	char text[128];

	if (is_tls13(word)) {
		snprintf(text, sizeof(text), "%.*s", SLICE_ARG(word));
		return SSL_CTX_set_ciphersuites(ssl, text) == 1;
	}
	if (word.p[0] == '@')
		return is_command(word);
	if (word.p[0] == '!' || word.p[0] == '-') {
		word = slice_of(word.p + 1, word.n - 1);
		return is_gone(word) || is_class(ssl, word);
	}
	return is_class(ssl, word.p[0] == '+' ? slice_of(word.p + 1, word.n - 1) : word);
}

static bool is_group(SSL_CTX *ssl, struct slice word)
{
	char text[128];

	snprintf(text, sizeof(text), "%.*s", SLICE_ARG(word));
	return SSL_CTX_set1_groups_list(ssl, text) == 1;
}

/* The first unknown word; n 0: none. An empty list is one itself. */
static struct slice stranger(SSL_CTX *ssl, const char *list,
	bool (*is_one)(SSL_CTX *ssl, struct slice word), bool *found)
{
	struct slice word = slice_next_word(&list, separators);

	for (*found = word.n == 0; word.n > 0; word = slice_next_word(&list, separators)) {
		*found = !is_one(ssl, word);
		if (*found)
			break;
	}
	return word;
}

static bool check_words(const char *list, bool (*is_one)(SSL_CTX *ssl, struct slice word),
	const char *what, struct tls_fault *fault)
{
	SSL_CTX *ssl;
	struct slice word;
	bool found;

	*fault = (struct tls_fault){ 0 };
	if (is_auto(list))
		return true;
	ssl = SSL_CTX_new(TLS_server_method());
	if (ssl == NULL) {
		snprintf(fault->text, sizeof(fault->text), "TLS: out of memory");
		return false;
	}
	word = stranger(ssl, list, is_one, &found);
	SSL_CTX_free(ssl);
	ERR_clear_error();
	if (found)
		snprintf(fault->text, sizeof(fault->text), "\"%.*s\": OpenSSL has no such %s",
			word.n < 100 ? (int)word.n : 100, word.p, what);
	return !found;
}

bool tls_suites_check(const char *ciphers, struct tls_fault *fault)
{
	return check_words(ciphers, is_suite, "suite", fault);
}

bool tls_suites_check_groups(const char *groups, struct tls_fault *fault)
{
	return check_words(groups, is_group, "group", fault);
}

/* --- use -------------------------------------------------------------------------------------- */

/* Picks the words of list for TLS 1.3, or the others; "": none. */
static bool pick(const char *list, bool tls13, char out[LIST_MAX])
{
	size_t n = 0;

	out[0] = '\0';
	for (struct slice word = slice_next_word(&list, separators); word.n > 0;
		word = slice_next_word(&list, separators)) {
		if (is_tls13(word) != tls13)
			continue;
		if (n + word.n + 2 + sizeof(no_one_must) > LIST_MAX)
			return false;
		n += (size_t)sprintf(out + n, "%s%.*s", n > 0 ? ":" : "", SLICE_ARG(word));
	}
	return true;
}

bool tls_suites_use(SSL_CTX *ssl, const char *ciphers)
{
	char tls12[LIST_MAX] = "", tls13[LIST_MAX] = "";

	if (!is_auto(ciphers) && (!pick(ciphers, false, tls12) || !pick(ciphers, true, tls13)))
		return false;
	/* For DHE in a list: RFC 7919's groups, by the size of the certificate's key. */
	SSL_CTX_set_dh_auto(ssl, 1);
	/* At any level of security, no suite without a key or encryption is used. */
	if (tls12[0] != '\0')
		strcat(tls12, no_one_must);
	return SSL_CTX_set_cipher_list(ssl, tls12[0] != '\0' ? tls12 : suites_tls12) == 1 &&
	       SSL_CTX_set_ciphersuites(ssl, tls13[0] != '\0' ? tls13 : suites_tls13) == 1;
}

bool tls_suites_use_groups(SSL_CTX *ssl, const char *groups)
{
	if (!is_auto(groups))
		return SSL_CTX_set1_groups_list(ssl, (void *)(uintptr_t)groups) == 1;
	for (size_t i = 0; i < sizeof(automatic) / sizeof(automatic[0]); i++) {
		/* The macro's own cast drops const; OpenSSL only reads. */
		if (SSL_CTX_set1_groups_list(ssl, (void *)(uintptr_t)automatic[i]) == 1)
			return true;
	}
	return false;
}

bool tls_suites_carry_h2(const SSL *ssl)
{
	const SSL_CIPHER *c = SSL_get_pending_cipher(ssl);
	int keys;

	if (SSL_version(ssl) >= TLS1_3_VERSION)
		return true;
	keys = c != NULL ? SSL_CIPHER_get_kx_nid(c) : NID_undef;
	return (keys == NID_kx_ecdhe || keys == NID_kx_dhe) && SSL_CIPHER_is_aead(c) == 1;
}
