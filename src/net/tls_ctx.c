/*
 * tls_ctx: sets up an SSL_CTX: versions, ciphers, groups, ALPN, certificate and key. Called by the
 * master while it builds a generation; whatever is wrong with the files ends in one line that names
 * the file. It never asks anybody for a password.
 */
#include "net/tls_ctx.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * RFC 9113, 9.2.2 and appendix A: with TLS 1.2 only ephemeral key exchange and AEAD are fit for
 * h2.
 */
static const char ciphers_tls12[] =
	"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
	"ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
	"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
static const char ciphers_tls13[] =
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

/* The first list needs OpenSSL 3.5. X25519 leads because it is the cheapest for the server. */
static const char *const groups[] = { "X25519:X25519MLKEM768:P-256:P-384", "X25519:P-256:P-384" };

/* Why OpenSSL failed, by its first error, which is the one nearest to the cause. */
static const char *reason(void)
{
	unsigned long e = ERR_peek_error();
	const char *text;

	if (ERR_GET_LIB(e) == ERR_LIB_SYS)
		return strerror(ERR_GET_REASON(e));
	if (ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE)
		return "there is no PEM block of this kind in it";
	text = ERR_reason_error_string(e);
	return text != NULL ? text : "unknown error";
}

/* Called for an encrypted PEM block: remembers that it was, and gives up. */
static int no_password(char *buf, int size, int rwflag, void *asked)
{
	(void)buf, (void)size, (void)rwflag;
	if (asked != NULL)
		*(bool *)asked = true;
	return -1;
}

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
	const unsigned char *in, unsigned int inlen, void *arg)
{
	static const unsigned char offered[] = "\x02h2";
	unsigned char *chosen;

	(void)ssl, (void)arg;
	/* RFC 7301, 3.2: no overlap is the alert no_application_protocol, not a guess. */
	if (SSL_select_next_proto(&chosen, outlen, offered, sizeof(offered) - 1, in, inlen) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* RFC 6066, 3: any name is acknowledged; which site answers is the router's business. */
static int accept_name(SSL *ssl, int *alert, void *arg)
{
	(void)ssl, (void)alert, (void)arg;
	return SSL_TLSEXT_ERR_OK;
}

static bool set_groups(SSL_CTX *ssl)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (SSL_CTX_set1_groups_list(ssl, groups[i]) == 1)
			return true;
	}
	return false;
}

static bool set_protocol(SSL_CTX *ssl, const struct tls_ctx_conf *conf)
{
	int min = conf->tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
	int max = conf->tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;

	if (!conf->tls12 && !conf->tls13)
		return false;
	SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
		SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
		/* HTTP/2 frames say their length: a cut is seen without close_notify too. */
		SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* The buffers of an idle connection go back to malloc: 12 to 17 KiB less for each. */
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_default_passwd_cb(ssl, no_password);
	SSL_CTX_set_alpn_select_cb(ssl, select_alpn, NULL);
	SSL_CTX_set_tlsext_servername_callback(ssl, accept_name);
	/*
	 * Sessions live in tickets, which every worker can read; a cache would be one per worker.
	 */
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(ssl, min) == 1 &&
	       SSL_CTX_set_max_proto_version(ssl, max) == 1 &&
	       SSL_CTX_set_cipher_list(ssl, ciphers_tls12) == 1 &&
	       SSL_CTX_set_ciphersuites(ssl, ciphers_tls13) == 1 && set_groups(ssl) &&
	       SSL_CTX_set_num_tickets(ssl, 1) == 1 &&
	       SSL_CTX_set_session_id_context(ssl, (const unsigned char *)"h2d", 3) == 1;
}

static int load_certificate(SSL_CTX *ssl, const char *file, char *err, size_t errsize)
{
	if (SSL_CTX_use_certificate_chain_file(ssl, file) == 1)
		return 0;
	snprintf(err, errsize, "certificate %s: %s", file, reason());
	return -1;
}

static EVP_PKEY *read_key(const char *file, char *err, size_t errsize)
{
	BIO *bio = BIO_new_file(file, "r");
	bool asked = false;
	EVP_PKEY *key = NULL;

	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &asked);
	if (key == NULL)
		snprintf(err, errsize, "certificate-key %s: %s", file,
			asked ? "protected by a password, which nobody is here to type" : reason());
	BIO_free(bio);
	return key;
}

static int load_key(SSL_CTX *ssl, const struct tls_ctx_conf *conf, char *err, size_t errsize)
{
	EVP_PKEY *key = read_key(conf->certificate_key, err, errsize);
	bool ok;

	if (key == NULL)
		return -1;
	ok = SSL_CTX_use_PrivateKey(ssl, key) == 1 && SSL_CTX_check_private_key(ssl) == 1;
	EVP_PKEY_free(key);
	if (ok)
		return 0;
	snprintf(err, errsize, "certificate-key %s: does not belong to certificate %s (%s)",
		conf->certificate_key, conf->certificate, reason());
	return -1;
}

struct tls_ctx *tls_ctx_new(const struct tls_ctx_conf *conf, char *err, size_t errsize)
{
	struct tls_ctx *ctx = calloc(1, sizeof(*ctx));

	ERR_clear_error();
	if (ctx == NULL) {
		snprintf(err, errsize, "TLS: %s", strerror(ENOMEM));
		return NULL;
	}
	ctx->ssl = SSL_CTX_new(TLS_server_method());
	if (ctx->ssl == NULL || !set_protocol(ctx->ssl, conf)) {
		snprintf(err, errsize, "TLS: %s",
			conf->tls12 || conf->tls13 ? reason() : "no protocol version is enabled");
		goto fail;
	}
	/*
	 * What a rejected list of groups left behind must not be taken for the cause of what
	 * follows.
	 */
	ERR_clear_error();
	if (load_certificate(ctx->ssl, conf->certificate, err, errsize) < 0 ||
	    load_key(ctx->ssl, conf, err, errsize) < 0)
		goto fail;
	return ctx;
fail:
	ERR_clear_error();
	tls_ctx_free(&ctx);
	return NULL;
}

void tls_ctx_free(struct tls_ctx **ctx)
{
	if (*ctx == NULL)
		return;
	SSL_CTX_free((*ctx)->ssl);
	free(*ctx);
	*ctx = NULL;
}
