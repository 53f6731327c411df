/*
 * tls: owns the SSL object and the descriptor; ciphertext is tls_bio's. It logs no line: a peer's
 * mistake is left in transport.reason.
 */
#include "tls/tls_ctx.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/list.h"
#include "tls/tls_bio.h"
#include "tls/tls_client_ca.h"

enum {
	RECORD = SSL3_RT_MAX_PLAIN_LENGTH,
	/*
	 * Turns in a row without a byte for the caller: no honest peer needs so many.
	 */
	BARREN_MAX = 64,
	BARREN_HANDSHAKE = 8, /* full recv(2) calls in one turn */
	IOV = 32,
	SECOND_MS = 1000,
	KEY_UPDATES_MAX = 100, /* of a connection in a second */
};

/* Plain bytes of one record, gathered. Of the process, because nothing stays in it. */
static uint8_t record_buf[RECORD];

struct tls {
	struct transport base;
	SSL *ssl;
	struct tls_bio io;
	struct tls_client client;
	bool established;
	int barren;
	bool renegotiates; /* the peer has asked for it */
	unsigned updates;  /* KeyUpdates since since_ms */
	uint64_t since_ms;
};

static struct tls *tls_of(struct transport *t)
{
	return (struct tls *)t;
}

/* Ends the connection, for a mistake of the peer; for a socket's error without a reason. */
static void broken(struct tls *t, const char *why)
{
	/* The alert for the peer is in the buffer: it must leave before error stops all output. */
	tls_bio_flush(&t->io);
	if (t->io.error != 0)
		return;
	t->io.error = -EPROTO;
	t->base.reason = why;
}

static const char *reason_of_tls(void)
{
	const char *why = ERR_reason_error_string(ERR_peek_error());

	return why != NULL ? why : "unknown error";
}

/* The handshake is complete. OpenSSL keeps the strings until tls_close(). */
static void settle_handshake(struct tls *t)
{
	const unsigned char *alpn;
	unsigned n;

	SSL_get0_alpn_selected(t->ssl, &alpn, &n);
	t->base.alpn = slice_of(alpn, n);
	t->base.certificate = SSL_CTX_get_app_data(SSL_get_SSL_CTX(t->ssl));
	t->base.tls_version = SSL_get_version(t->ssl);
	t->base.tls_cipher = SSL_get_cipher_name(t->ssl);
	t->base.client_ca = tls_client_ca_of(t->ssl);
	tls_client_ca_find(t->ssl, &t->client);
	t->base.client_subject = t->client.subject;
	t->base.client_refused = t->client.refused;
	t->established = true;
	COUNT(resumptions, SSL_session_reused(t->ssl));
}

/*
 * OpenSSL answers, without a limit, each change of keys of TLS 1.3 (RFC 8446, 4.6.3) and each
 * ClientHello of TLS 1.2 after the first one.
 */
static void on_info(const SSL *ssl, int where, int alert)
{
	struct tls *t = LIST_ENTRY(BIO_get_data(SSL_get_rbio(ssl)), struct tls, io);

	if (!t->established)
		return;
	if (where == SSL_CB_ACCEPT_LOOP && SSL_get_state(ssl) == TLS_ST_SR_KEY_UPDATE) {
		if (clock_ms() - t->since_ms >= SECOND_MS) {
			t->since_ms = clock_ms();
			t->updates = 0;
		}
		t->updates++;
	}
	if (where == SSL_CB_WRITE_ALERT && (alert & 0xff) == SSL_AD_NO_RENEGOTIATION)
		t->renegotiates = true;
}

/* Ends the connection of a peer that exceeds its share of these. */
static void check_asked(struct tls *t)
{
	if (t->io.error != 0)
		return;
	if (t->renegotiates) {
		broken(t, "renegotiation refused");
	} else if (t->updates > KEY_UPDATES_MAX) {
		COUNT(limit_key_updates, 1);
		broken(t, "too many key updates");
	}
}

static int tls_handshake(struct transport *base)
{
	struct tls *t = tls_of(base);
	int barren = 0, r, e;

	if (t->io.error != 0 || t->established)
		return t->io.error;
	tls_bio_flush(&t->io);
	tls_bio_begin(&t->io, false);
	do {
		t->io.may_recv = true;
		r = SSL_do_handshake(t->ssl);
		e = r == 1 ? SSL_ERROR_NONE : SSL_get_error(t->ssl, r);
	} while (e == SSL_ERROR_WANT_READ && !t->io.dry && ++barren < BARREN_HANDSHAKE);
	if (r == 1)
		settle_handshake(t);
	else if (t->io.error == 0 && t->io.eof)
		t->io.error = -ECONNRESET;
	else if (t->io.error == 0 && e != SSL_ERROR_WANT_READ)
		broken(t, reason_of_tls());
	else if (t->io.error == 0 && !t->io.dry)
		broken(t, "too long");
	tls_bio_end(&t->io);
	t->base.heard = t->io.nhead > 0;
	if (t->io.error == -EPROTO)
		t->base.said = tls_bio_text(&t->io);
	if (t->io.error != 0)
		return t->io.error;
	return t->established ? 0 : -EAGAIN;
}

static ssize_t tls_recv(struct transport *base, void *buf, size_t cap)
{
	struct tls *t = tls_of(base);
	size_t total = 0, n;
	int e = SSL_ERROR_NONE;

	H2D_ASSERT(t->established && cap > 0);
	base->drained = false;
	if (t->io.error != 0)
		return t->io.error;
	tls_bio_begin(&t->io, true);
	while (total < cap) {
		if (SSL_read_ex(t->ssl, (char *)buf + total, cap - total, &n) == 1) {
			total += n;
			/* Another call would make OpenSSL set up a buffer and find no byte. */
			if (tls_bio_drained(&t->io) && !SSL_has_pending(t->ssl)) {
				base->drained = true;
				break;
			}
			continue;
		}
		e = SSL_get_error(t->ssl, 0);
		break;
	}
	tls_bio_yield(&t->io, total);
	t->barren = total > 0 ? 0 : t->barren + (e == SSL_ERROR_WANT_READ && !t->io.dry);
	if (t->barren == BARREN_MAX)
		broken(t, "too many empty records");
	check_asked(t);
	/* WANT_READ: both buffers are empty, so dry covers all received bytes. */
	if (e == SSL_ERROR_WANT_READ && t->io.dry)
		base->drained = true;
	if (t->io.error == 0 && e != SSL_ERROR_NONE && e != SSL_ERROR_WANT_READ &&
		e != SSL_ERROR_ZERO_RETURN)
		broken(t, reason_of_tls());
	tls_bio_end(&t->io);
	/* The next call begins with the rest, and more may have come by then. */
	if (total > 0 && !base->drained)
		t->io.dry = false;
	/* An end or error after the bytes is sticky: the next call finds it again. */
	if (total > 0)
		return (ssize_t)total;
	if (t->io.error != 0)
		return t->io.error;
	if (e == SSL_ERROR_ZERO_RETURN)
		return 0;
	return t->io.dry ? -EAGAIN : -EINTR;
}

/*
 * The next plain bytes of q, *p[0..return): whole records of a large segment in place, else as many
 * segments as fill one record, copied together, because a record costs more than the copy.
 */
static size_t next_plain(const struct outq *q, size_t limit, size_t max_records, const uint8_t **p)
{
	struct iovec iov[IOV];
	size_t n = 0;
	int count = outq_iov(q, iov, IOV, limit < RECORD ? limit : RECORD);

	H2D_ASSERT(count > 0);
	if (iov[0].iov_len == RECORD) {
		outq_iov(q, iov, 1, limit);
		n = iov[0].iov_len / RECORD;
		*p = iov[0].iov_base;
		return RECORD * (n < max_records ? n : max_records);
	}
	for (int i = 0; i < count; i++) {
		memcpy(record_buf + n, iov[i].iov_base, iov[i].iov_len);
		n += iov[i].iov_len;
	}
	*p = record_buf;
	return n;
}

/* Encrypts from the front of q while the process's buffer has room for a record. */
static size_t encrypt(struct tls *t, struct outq *q, size_t limit)
{
	size_t done = 0;

	while (done < limit && outq_len(q) > 0 && tls_bio_room() > 0) {
		const uint8_t *p;
		size_t n = next_plain(q, limit - done, tls_bio_room(), &p);
		size_t written;

		/* The BIO takes all bytes, so this succeeds at once or never: p need not stay. */
		if (SSL_write_ex(t->ssl, p, n, &written) != 1) {
			broken(t, reason_of_tls());
			break;
		}
		outq_consume(q, n);
		done += n;
	}
	return done;
}

static ssize_t tls_send(struct transport *base, struct outq *q, size_t limit)
{
	struct tls *t = tls_of(base);
	size_t done = 0;
	int r;

	H2D_ASSERT(t->established || outq_len(q) == 0);
	if (t->io.error != 0)
		return t->io.error;
	tls_bio_begin(&t->io, false);
	/* No byte is encrypted while older ciphertext waits: memory is bounded by one turn's. */
	r = tls_bio_flush(&t->io);
	while (r == 0 && done < limit && outq_len(q) > 0) {
		done += encrypt(t, q, limit - done);
		r = tls_bio_flush(&t->io);
	}
	if (t->io.error != 0)
		return t->io.error;
	return done == 0 ? r : (ssize_t)done;
}

static bool tls_pending(const struct transport *base)
{
	return ((const struct tls *)base)->io.out.p != NULL;
}

static void tls_shutdown(struct transport *base)
{
	struct tls *t = tls_of(base);

	tls_bio_begin(&t->io, false);
	if (t->established && t->io.error == 0)
		SSL_shutdown(t->ssl);
	t->io.shut = true;
	if (tls_bio_flush(&t->io) != 0 && t->io.error != 0)
		shutdown(base->fd, SHUT_WR);
}

static void tls_close(struct transport **base)
{
	struct tls *t = tls_of(*base);

	SSL_free(t->ssl);
	tls_client_clear(&t->client);
	tls_bio_clear(&t->io);
	if (t->base.fd >= 0)
		close(t->base.fd);
	free(t);
	*base = NULL;
}

static const struct transport_ops tls_ops = {
	.name = "tls",
	.handshake = tls_handshake,
	.recv = tls_recv,
	.send = tls_send,
	.pending = tls_pending,
	.shutdown = tls_shutdown,
	.close = tls_close,
};

struct transport *tls_open(const struct tls_ctx *ctx, int fd)
{
	struct tls *t = calloc(1, sizeof(*t));
	BIO *bio;

	if (t == NULL)
		return NULL;
	t->base.ops = &tls_ops;
	t->base.fd = t->io.fd = fd;
	t->ssl = SSL_new(ctx->first->ssl);
	bio = tls_bio_new(&t->io);
	if (t->ssl == NULL || bio == NULL) {
		SSL_free(t->ssl);
		BIO_free(bio);
		free(t);
		return NULL;
	}
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_accept_state(t->ssl);
	SSL_set_info_callback(t->ssl, on_info);
	return &t->base;
}
