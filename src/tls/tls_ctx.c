/*
 * tls_ctx: sets up an SSL_CTX for each certificate: versions, ciphers, groups, ALPN, and their
 * choice by the client's server name. Called by the master while it builds a generation. Words of
 * suites are read alone, because OpenSSL ignores one that it does not know.
 */
#include "tls/tls_ctx.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls/tls_memory.h"
#include "tls/tls_staple.h"
#include "tls/tls_tickets.h"

enum {
	NAME_MAX_BYTES = 255, /* of a server name: TLSEXT_MAXLEN_host_name */
	LIST_MAX = 4096,
};

/* --- suites and groups ------------------------------------------------------------------------ */

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

static bool is_suite(SSL_CTX *ssl, struct slice word)
{
	char text[128];

	if (is_tls13(word)) {
		snprintf(text, sizeof(text), "%.*s", SLICE_ARG(word));
		return SSL_CTX_set_ciphersuites(ssl, text) == 1;
	}
	if (slice_starts(word, SLICE("@SECLEVEL=")))
		return word.n == 11 && word.p[10] >= '0' && word.p[10] <= '5';
	if (word.p[0] == '@')
		return slice_eq(word, SLICE("@STRENGTH"));
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

/* For ALPN: true if the chosen suite is fit for HTTP/2 (RFC 9113, 9.2.2). */
static bool carries_h2(const SSL *ssl)
{
	const SSL_CIPHER *c = SSL_get_pending_cipher(ssl);
	int keys;

	if (SSL_version(ssl) >= TLS1_3_VERSION)
		return true;
	keys = c != NULL ? SSL_CIPHER_get_kx_nid(c) : NID_undef;
	return (keys == NID_kx_ecdhe || keys == NID_kx_dhe) && SSL_CIPHER_is_aead(c) == 1;
}

/* --- contexts --------------------------------------------------------------------------------- */

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
	const unsigned char *in, unsigned int inlen, void *arg)
{
	/* In order of preference: the first one that the client offers is chosen. The last is
	 * curl's. */
	static const unsigned char offered[] = "\x02h2\x08http/1.1\x08http/1.0";
	unsigned skip = carries_h2(ssl) ? 0 : sizeof("\x02h2") - 1;
	unsigned char *chosen;

	(void)arg;
	/* RFC 7301, 3.2: no overlap is the alert no_application_protocol, not a guess. */
	if (SSL_select_next_proto(&chosen, outlen, offered + skip, sizeof(offered) - 1 - skip, in,
		    inlen) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* RFC 6066, 3: any name is acknowledged; the site is chosen per request. */
static int accept_name(SSL *ssl, int *alert, void *arg)
{
	(void)ssl, (void)alert, (void)arg;
	return SSL_TLSEXT_ERR_OK;
}

/* RFC 6066, 3: a list of one name. OpenSSL refuses a malformed one, but only later. */
static struct slice asked_name(SSL *ssl)
{
	const unsigned char *p;
	size_t n, len;

	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n) != 1 || n < 5 ||
		p[2] != TLSEXT_NAMETYPE_host_name)
		return (struct slice){ 0 };
	len = (size_t)p[3] << 8 | p[4];
	return slice_of(p + 5, len <= n - 5 && len <= NAME_MAX_BYTES ? len : 0);
}

/*
 * A ticket is valid for its certificate and its name only: RFC 6066, 3; a client's verification of
 * one name must not count for another. The client's identity was checked by the authorities and
 * lists of that time. Ticket keys are those of the connection's first SSL_CTX, the default one's.
 */
static bool bind_session(
	SSL *ssl, const struct tls_cert *cert, const struct tls_client_ca *ca, struct slice name)
{
	unsigned char all[sizeof(cert->id) + sizeof(ca->id) + NAME_MAX_BYTES];
	unsigned char digest[SHA256_DIGEST_LENGTH];
	size_t n = sizeof(cert->id);

	memcpy(all, cert->id, n);
	if (ca != NULL) {
		memcpy(all + n, ca->id, sizeof(ca->id));
		n += sizeof(ca->id);
	}
	for (size_t i = 0; i < name.n; i++)
		all[n++] = (unsigned char)tolower((unsigned char)name.p[i]);
	return SHA256(all, n, digest) != NULL &&
	       SSL_set_session_id_context(ssl, digest, sizeof(digest)) == 1;
}

/* Called before OpenSSL looks for a session to resume; its server name callback would be too
 * late. */
static int choose_cert(SSL *ssl, int *alert, void *arg)
{
	const struct tls_ctx *ctx = arg;
	struct slice name = asked_name(ssl);
	const struct tls_client_ca *ca = ctx->ask != NULL ? ctx->ask(ctx->owner, name) : NULL;
	const struct tls_cert *cert = NULL;

	if (ctx->choose != NULL)
		cert = ctx->choose(ctx->owner, name);
	/* RFC 6066, 3. */
	if (cert == NULL && ctx->rejects) {
		*alert = SSL_AD_UNRECOGNIZED_NAME;
		return SSL_CLIENT_HELLO_ERROR;
	}
	if (cert == NULL)
		cert = ctx->first;
	if (SSL_set_SSL_CTX(ssl, cert->ssl) != NULL && tls_client_ca_ask(ssl, ca) &&
		bind_session(ssl, cert, ca, name))
		return SSL_CLIENT_HELLO_SUCCESS;
	*alert = SSL_AD_INTERNAL_ERROR;
	return SSL_CLIENT_HELLO_ERROR;
}

static bool set_protocol(SSL_CTX *ssl, const struct tls_ctx *ctx)
{
	int min = ctx->tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
	int max = ctx->tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;

	if (!ctx->tls12 && !ctx->tls13)
		return false;
	SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_PRIORITIZE_CHACHA |
					 /* Messages have a length in HTTP/2 and in HTTP/1: a cut
					  * one is incomplete, with or without close_notify. */
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	if (ctx->no_tickets)
		SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
	/* The buffers of an idle connection go back to malloc: 12 to 17 KiB less for each. */
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ssl, select_alpn, NULL);
	SSL_CTX_set_client_hello_cb(ssl, choose_cert, (void *)(uintptr_t)ctx);
	SSL_CTX_set_tlsext_servername_callback(ssl, accept_name);
	/* Sessions are in tickets, which every worker can read; a cache would be one per worker. */
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	tls_client_ca_prepare(ssl);
	return SSL_CTX_set_min_proto_version(ssl, min) == 1 &&
	       SSL_CTX_set_max_proto_version(ssl, max) == 1 && tls_suites_use(ssl, ctx->ciphers) &&
	       tls_suites_use_groups(ssl, ctx->groups) &&
	       SSL_CTX_set_num_tickets(ssl, ctx->no_tickets ? 0 : 1) == 1 && tls_tickets_use(ssl) &&
	       tls_staple_use(ssl);
}

struct tls_ctx *tls_ctx_new(bool tls12, bool tls13)
{
	struct tls_ctx *ctx = calloc(1, sizeof(*ctx));

	if (ctx == NULL)
		return NULL;
	ctx->tls12 = tls12;
	ctx->tls13 = tls13;
	return ctx;
}

/*
 * The number of failures before: a suite or group without memory is silently left out by OpenSSL,
 * in a context, or in the process for good. So the first context of a process counts all earlier
 * failures, too.
 */
static unsigned failures_before(void)
{
	static bool again;
	unsigned n = again ? tls_memory_failures() : 0;

	again = true;
	return n;
}

static SSL_CTX *new_ssl(const struct tls_ctx *ctx, struct tls_fault *fault)
{
	SSL_CTX *ssl;

	ERR_clear_error();
	ssl = SSL_CTX_new(TLS_server_method());
	if (ssl == NULL || !set_protocol(ssl, ctx)) {
		const char *why = ctx->tls12 || ctx->tls13 ? tls_cert_reason()
							   : "no protocol version is enabled";

		*fault = (struct tls_fault){ 0 };
		snprintf(fault->text, sizeof(fault->text), "TLS: %s", why);
		SSL_CTX_free(ssl);
		ssl = NULL;
	}
	/* Errors of a rejected list of groups do not cause later ones. */
	ERR_clear_error();
	return ssl;
}

static struct tls_cert *load_cert(const struct tls_ctx *ctx, const struct tls_files *files,
	unsigned n, struct tls_fault *fault)
{
	unsigned failures = failures_before();
	SSL_CTX *ssl = new_ssl(ctx, fault);
	struct tls_cert *c = ssl != NULL ? tls_cert_load(ssl, files, n, fault) : NULL;

	/* An incomplete context or certificate is none. */
	if (tls_memory_failures() != failures) {
		*fault = (struct tls_fault){ .text = "TLS: out of memory" };
		tls_cert_free(&c);
	}
	return c;
}

static bool has_files(const struct tls_cert *c, const struct tls_files *files, unsigned n)
{
	bool same = c->npairs == n;

	for (unsigned i = 0; same && i < n; i++)
		for (unsigned k = 0; same && k < TLS_FILES; k++)
			same = strcmp(c->pairs[i].files[k], files[i].name[k]) == 0;
	return same;
}

struct tls_cert *tls_ctx_add(
	struct tls_ctx *ctx, const struct tls_files *files, unsigned n, struct tls_fault *fault)
{
	struct tls_cert *c;

	for (c = ctx->certs; c != NULL; c = c->next)
		if (has_files(c, files, n))
			return c;
	c = load_cert(ctx, files, n, fault);
	if (c == NULL)
		return NULL;
	SSL_CTX_set_app_data(c->ssl, c);
	c->next = ctx->certs;
	ctx->certs = c;
	if (ctx->first == NULL)
		ctx->first = c;
	return c;
}

void tls_ctx_free(struct tls_ctx **ctx)
{
	if (*ctx == NULL)
		return;
	while ((*ctx)->certs != NULL) {
		struct tls_cert *c = (*ctx)->certs;

		(*ctx)->certs = c->next;
		tls_cert_free(&c);
	}
	free(*ctx);
	*ctx = NULL;
}
