/*
 * tls_ctx: sets up an SSL_CTX for each certificate: versions, ciphers, groups, ALPN, and their
 * choice by the client's server name. Called by the master while it builds a generation.
 */
#include "tls/tls_ctx.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#include "tls/tls_memory.h"
#include "tls/tls_staple.h"
#include "tls/tls_suites.h"
#include "tls/tls_tickets.h"

enum { NAME_MAX_BYTES = 255 }; /* of a server name: TLSEXT_MAXLEN_host_name */

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
	const unsigned char *in, unsigned int inlen, void *arg)
{
	/* In order of preference: the first one that the client offers is chosen. The last is
	 * curl's. */
	static const unsigned char offered[] = "\x02h2\x08http/1.1\x08http/1.0";
	unsigned skip = tls_suites_carry_h2(ssl) ? 0 : sizeof("\x02h2") - 1;
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
	unsigned failures = failures_before();
	SSL_CTX *ssl;

	ERR_clear_error();
	ssl = SSL_CTX_new(TLS_server_method());
	if (ssl == NULL || !set_protocol(ssl, ctx) || tls_memory_failures() != failures) {
		const char *why = tls_cert_reason();

		if (tls_memory_failures() != failures)
			why = "out of memory";
		if (!ctx->tls12 && !ctx->tls13)
			why = "no protocol version is enabled";
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
	SSL_CTX *ssl = new_ssl(ctx, fault);
	unsigned failures = tls_memory_failures();
	struct tls_cert *c = ssl != NULL ? tls_cert_load(ssl, files, n, fault) : NULL;

	/* An incomplete certificate is none. */
	if (c != NULL && tls_memory_failures() != failures) {
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
