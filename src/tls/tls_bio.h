/*
 * tls_bio: the ciphertext side of a TLS connection: an OpenSSL BIO that gathers writes and receives
 * large pieces, through buffers of the process. The buffers are empty between any two begin/end
 * pairs, so that no byte of one connection can reach another; bytes that the socket or OpenSSL did
 * not take are kept here, with their connection. Called by tls only, by one thread.
 */
#pragma once

#include <openssl/bio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum { TLS_BIO_HEAD = 8 };

/* Ciphertext p[pos..len); p NULL when there is none. */
struct tls_kept {
	uint8_t *p;
	size_t pos, len;
};

/* A member of its connection; zero it and set fd. */
struct tls_bio {
	int fd;
	int error;     /* negative errno: the connection is broken; set by tls too */
	bool poor;     /* most received records had no content */
	bool may_recv; /* OpenSSL may cause one recv(2) */
	bool dry;      /* the last recv(2) took all that the socket had */
	bool eof;      /* the peer's half of the socket is closed */
	bool shut;     /* half-close the socket once the last byte is sent */
	uint8_t nhead; /* number of bytes OpenSSL was given, up to one more than head holds */
	uint8_t head[TLS_BIO_HEAD]; /* the first bytes */
	struct tls_kept in, out;
};

/* A BIO over b, for both directions. Takes all bytes written. NULL when memory is out. */
BIO *tls_bio_new(struct tls_bio *b);

/* Called before OpenSSL; also clears its error queue. */
void tls_bio_begin(struct tls_bio *b, bool may_recv);

/* Called after it: keeps unconsumed received bytes, sends written ones. */
void tls_bio_end(struct tls_bio *b);

/*
 * Called between begin and end: the received bytes became n plain bytes. After records that are
 * work for OpenSSL without data for the caller, the next recv(2) takes little, so that a turn stays
 * short.
 */
void tls_bio_yield(struct tls_bio *b, size_t n);

/* Called between begin and end: true if all bytes of the socket were received, and given to
 * OpenSSL. */
bool tls_bio_drained(const struct tls_bio *b);

/* The number of full records that still fit into the buffer, before it must be flushed. */
size_t tls_bio_room(void);

/*
 * Sends kept bytes, then the buffer, and keeps what the socket does not take. The buffer is empty
 * afterwards in any case. 0 when all is sent, -EAGAIN, or b->error.
 */
int tls_bio_flush(struct tls_bio *b);

/*
 * The received bytes after a failed handshake, if they may begin a request of HTTP/1 in cleartext,
 * with three letters in upper case. They live as long as b.
 */
struct slice tls_bio_text(struct tls_bio *b);

/* Frees kept bytes. */
void tls_bio_clear(struct tls_bio *b);
