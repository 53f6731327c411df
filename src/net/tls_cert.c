/*
 * tls_cert: reads certificates and keys into an SSL_CTX, and compares names with them. tls_ctx
 * calls it while a generation is built, a worker calls tls_cert_covers(); a key that needs a
 * password is refused and never asked for on a terminal.
 */
#include "net/tls_cert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/tls_memory.h"

enum { KEY_TEXT_MAX = 64 << 10 };

/* Why OpenSSL failed, by its first error, which is the one nearest to the cause. */
static const char *reason(void)
{
	unsigned long e = ERR_peek_error();
	const char *text;

	if (ERR_GET_LIB(e) == ERR_LIB_SYS)
		return strerror(ERR_GET_REASON(e));
	if ((ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE) ||
		(ERR_GET_LIB(e) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(e) == ERR_R_UNSUPPORTED))
		return "there is no PEM block of this kind in it";
	text = ERR_reason_error_string(e);
	return text != NULL ? text : "unknown error";
}

/* Called for an encrypted PEM block: remembers that it was, and gives up. */
static int no_password(char *buf, int size, int rwflag, void *prompted)
{
	(void)buf, (void)size, (void)rwflag;
	if (prompted != NULL)
		*(bool *)prompted = true;
	return -1;
}

static int load_certificate(struct tls_cert *c, struct tls_fault *fault)
{
	SSL_CTX_set_default_passwd_cb(c->ssl, no_password);
	if (SSL_CTX_use_certificate_chain_file(c->ssl, c->certificate) == 1 &&
		X509_digest(SSL_CTX_get0_certificate(c->ssl), EVP_sha256(), c->id, NULL) == 1)
		return 0;
	snprintf(fault->text, sizeof(fault->text), "certificate %s: %s", c->certificate, reason());
	return -1;
}

/* The text of a key, n bytes of it, or -errno; a larger file is cut, and then is no PEM block. */
static ssize_t read_text(const char *file, char *buf, size_t size)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	while (n < size && (got = read(fd, buf + n, size - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		n = (size_t)-errno;
	close(fd);
	return (ssize_t)n;
}

static EVP_PKEY *parse_key(const char *text, size_t n, bool *prompted)
{
	BIO *bio = BIO_new_mem_buf(text, (int)n);
	EVP_PKEY *key = NULL;

	tls_memory_wipe(true);
	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_password, prompted);
	tls_memory_wipe(false);
	BIO_free(bio);
	return key;
}

/* Not by BIO_new_file(): stdio would leave the text of the key in a buffer that nobody wipes. */
static EVP_PKEY *read_key(const char *file, struct tls_fault *fault)
{
	char text[KEY_TEXT_MAX];
	ssize_t n = read_text(file, text, sizeof(text));
	bool prompted = false;
	EVP_PKEY *key = n >= 0 ? parse_key(text, (size_t)n, &prompted) : NULL;

	explicit_bzero(text, sizeof(text));
	if (key == NULL)
		snprintf(fault->text, sizeof(fault->text), "certificate-key %s: %s", file,
			n < 0      ? strerror((int)-n)
			: prompted ? "protected by a password, which nobody is here to type"
				   : reason());
	return key;
}

static int load_key(struct tls_cert *c, struct tls_fault *fault)
{
	EVP_PKEY *key;
	bool ok;

	fault->in_key = true;
	key = read_key(c->key, fault);
	if (key == NULL)
		return -1;
	ok = SSL_CTX_use_PrivateKey(c->ssl, key) == 1 && SSL_CTX_check_private_key(c->ssl) == 1;
	EVP_PKEY_free(key);
	if (ok)
		return 0;
	snprintf(fault->text, sizeof(fault->text),
		"certificate-key %s: does not belong to certificate %s (%s)", c->key,
		c->certificate, reason());
	return -1;
}

struct tls_cert *tls_cert_load(
	SSL_CTX *ssl, const char *certificate, const char *key, struct tls_fault *fault)
{
	struct tls_cert *c = calloc(1, sizeof(*c));

	*fault = (struct tls_fault){ 0 };
	ERR_clear_error();
	if (c == NULL) {
		SSL_CTX_free(ssl);
		snprintf(fault->text, sizeof(fault->text), "TLS: %s", strerror(ENOMEM));
		return NULL;
	}
	c->ssl = ssl;
	c->certificate = strdup(certificate);
	c->key = strdup(key);
	if (c->certificate == NULL || c->key == NULL)
		snprintf(fault->text, sizeof(fault->text), "TLS: %s", strerror(ENOMEM));
	else if (load_certificate(c, fault) == 0 && load_key(c, fault) == 0)
		return c;
	ERR_clear_error();
	tls_cert_free(&c);
	return NULL;
}

bool tls_cert_covers(const struct tls_cert *c, struct slice host)
{
	X509 *leaf = SSL_CTX_get0_certificate(c->ssl);
	bool v6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	unsigned char ip[16];
	char text[256];

	if (v6)
		host = slice_of(host.p + 1, host.n - 2);
	if (host.n == 0 || host.n >= sizeof(text) || memchr(host.p, '\0', host.n) != NULL)
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	if (v6 || inet_pton(AF_INET, text, ip) == 1)
		return X509_check_ip_asc(leaf, text, 0) == 1;
	/* RFC 9110, 4.3.4: the subject's common name is no name of a host. */
	return X509_check_host(leaf, text, host.n, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) == 1;
}

void tls_cert_free(struct tls_cert **cp)
{
	struct tls_cert *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	SSL_CTX_free(c->ssl);
	free(c->certificate);
	free(c->key);
	free(c);
}
