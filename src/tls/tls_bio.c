/*
 * tls_bio: the only send(2) and recv(2) of a TLS connection: one of each per turn as long as the
 * socket keeps up.
 */
#include "tls/tls_bio.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

enum {
	RECORD_ROOM =
		SSL3_RT_HEADER_LENGTH + SSL3_RT_MAX_PLAIN_LENGTH + SSL3_RT_MAX_ENCRYPTED_OVERHEAD,
	OUT_SIZE = 16 * RECORD_ROOM, /* one send(2) may carry 256 KiB of plain bytes */
	IN_SIZE = 64 * 1024,
	IN_POOR = 4 * 1024,
	/* More than a turn can leave: a peer that makes us answer without reading is cut off. */
	KEPT_MAX = 2 * OUT_SIZE,
};

static uint8_t out_buf[OUT_SIZE], in_buf[IN_SIZE];
static size_t out_len, in_pos, in_len;

static void kept_clear(struct tls_kept *k)
{
	free(k->p);
	*k = (struct tls_kept){ 0 };
}

/* Appends p[0..n); false when memory is out. */
static bool kept_append(struct tls_kept *k, const uint8_t *p, size_t n)
{
	size_t have = k->len - k->pos;
	uint8_t *mem = malloc(have + n);

	if (mem == NULL)
		return false;
	if (have > 0)
		memcpy(mem, k->p + k->pos, have);
	if (n > 0)
		memcpy(mem + have, p, n);
	free(k->p);
	*k = (struct tls_kept){ .p = mem, .len = have + n };
	return true;
}

/* Sends p[0..n): bytes taken, 0 when the socket is full, -errno. */
static ssize_t send_some(const struct tls_bio *b, const uint8_t *p, size_t n)
{
	ssize_t r = TEMP_FAILURE_RETRY(send(b->fd, p, n, MSG_NOSIGNAL));

	if (r < 0)
		return errno == EAGAIN ? 0 : -errno;
	return r;
}

int tls_bio_flush(struct tls_bio *b)
{
	size_t sent = 0, n = out_len;
	ssize_t r;

	out_len = 0;
	if (b->error != 0)
		return b->error;
	if (b->out.p != NULL) {
		r = send_some(b, b->out.p + b->out.pos, b->out.len - b->out.pos);
		if (r < 0)
			return b->error = (int)r;
		b->out.pos += (size_t)r;
		if (b->out.pos == b->out.len)
			kept_clear(&b->out);
	}
	if (b->out.p == NULL && n > 0) {
		r = send_some(b, out_buf, n);
		if (r < 0)
			return b->error = (int)r;
		sent = (size_t)r;
	}
	if (sent < n) {
		if (b->out.len - b->out.pos + n - sent > KEPT_MAX ||
			!kept_append(&b->out, out_buf + sent, n - sent))
			return b->error = -ENOBUFS;
	}
	if (b->out.p != NULL)
		return -EAGAIN;
	if (b->shut) {
		b->shut = false;
		shutdown(b->fd, SHUT_WR);
	}
	return 0;
}

/* Always takes all bytes: so SSL_write never asks to be called again with the same ones. */
static int bio_write(BIO *bio, const char *p, size_t n, size_t *written)
{
	struct tls_bio *b = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	*written = n;
	while (n > 0) {
		size_t part = OUT_SIZE - out_len;

		if (part == 0) {
			tls_bio_flush(b);
			if (b->error != 0)
				return -1;
			continue;
		}
		part = n < part ? n : part;
		memcpy(out_buf + out_len, p, part);
		out_len += part;
		p += part;
		n -= part;
	}
	return 1;
}

/* Fills in_buf by one recv(2), if this call may still make one. */
static bool fill(struct tls_bio *b)
{
	size_t cap = b->poor ? IN_POOR : IN_SIZE;
	ssize_t n;

	if (!b->may_recv)
		return false;
	b->may_recv = false;
	n = TEMP_FAILURE_RETRY(recv(b->fd, in_buf, cap, 0));
	b->dry = n != 0 && n < (ssize_t)cap;
	b->eof = n == 0;
	if (n < 0 && errno != EAGAIN)
		b->error = -errno;
	in_pos = 0;
	in_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* OpenSSL reads only a record's head of bytes that are no TLS. */
static void remember(struct tls_bio *b, const char *p, size_t n)
{
	size_t room = TLS_BIO_HEAD + 1 - b->nhead;

	for (size_t i = 0; i < n && i < room; i++, b->nhead++)
		if (b->nhead < TLS_BIO_HEAD)
			b->head[b->nhead] = (uint8_t)p[i];
}

static int bio_read(BIO *bio, char *buf, size_t cap, size_t *got)
{
	struct tls_bio *b = BIO_get_data(bio);
	bool kept = b->in.p != NULL;
	size_t have, *pos = kept ? &b->in.pos : &in_pos;

	BIO_clear_retry_flags(bio);
	*got = 0;
	if (!kept && in_pos == in_len && !fill(b)) {
		if (b->eof)
			return 0;
		if (b->error == 0)
			BIO_set_retry_read(bio);
		return -1;
	}
	have = (kept ? b->in.len : in_len) - *pos;
	*got = cap < have ? cap : have;
	memcpy(buf, (kept ? b->in.p : in_buf) + *pos, *got);
	*pos += *got;
	if (kept && *got == have)
		kept_clear(&b->in);
	if (b->nhead <= TLS_BIO_HEAD)
		remember(b, buf, *got);
	return 1;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
	struct tls_bio *b = BIO_get_data(bio);

	(void)num, (void)ptr;
	switch (cmd) {
	case BIO_CTRL_FLUSH:
		return 1;
	case BIO_CTRL_EOF:
		return b->eof;
	default:
		return 0;
	}
}

BIO *tls_bio_new(struct tls_bio *b)
{
	static BIO_METHOD *method; /* for the process, made with the first connection */
	BIO *bio;

	if (method == NULL) {
		method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "h2d socket");
		if (method == NULL)
			return NULL;
		BIO_meth_set_write_ex(method, bio_write);
		BIO_meth_set_read_ex(method, bio_read);
		BIO_meth_set_ctrl(method, bio_ctrl);
	}
	bio = BIO_new(method);
	if (bio != NULL) {
		BIO_set_data(bio, b);
		BIO_set_init(bio, 1);
	}
	return bio;
}

void tls_bio_begin(struct tls_bio *b, bool may_recv)
{
	H2D_ASSERT(out_len == 0 && in_pos == in_len);
	b->may_recv = may_recv;
	/* Errors left in the queue would be taken for those of the next call. */
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

void tls_bio_yield(struct tls_bio *b, size_t n)
{
	if (b->poor || in_pos > RECORD_ROOM)
		b->poor = n < in_pos / 4;
}

bool tls_bio_drained(const struct tls_bio *b)
{
	return b->dry && !b->eof && b->in.p == NULL && in_pos == in_len;
}

void tls_bio_end(struct tls_bio *b)
{
	if (in_pos < in_len && !kept_append(&b->in, in_buf + in_pos, in_len - in_pos))
		b->error = -ENOMEM;
	in_pos = in_len = 0;
	if (out_len > 0)
		tls_bio_flush(b);
}

size_t tls_bio_room(void)
{
	return (OUT_SIZE - out_len) / RECORD_ROOM;
}

/* "GET", "OPT", but not "PRI": an HTTP/1 answer would be noise to cleartext HTTP/2. */
static bool is_text(const uint8_t *head)
{
	for (int i = 0; i < 3; i++)
		if (head[i] < 'A' || head[i] > 'Z')
			return false;
	return memcmp(head, "PRI", 3) != 0;
}

struct slice tls_bio_text(struct tls_bio *b)
{
	struct tls_kept all = { 0 };

	if (b->nhead < 3 || b->nhead > TLS_BIO_HEAD || !is_text(b->head) ||
		!kept_append(&all, b->head, b->nhead) ||
		(b->in.p != NULL &&
			!kept_append(&all, b->in.p + b->in.pos, b->in.len - b->in.pos))) {
		kept_clear(&all);
		return (struct slice){ 0 };
	}
	kept_clear(&b->in);
	b->in = all;
	return slice_of(all.p, all.len);
}

void tls_bio_clear(struct tls_bio *b)
{
	kept_clear(&b->in);
	kept_clear(&b->out);
}
