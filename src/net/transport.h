/*
 * transport: the seam between a connection and its socket: tcp (also unix sockets) and tls. All
 * calls are non-blocking; errors are negative errno values, -EAGAIN means: wait for the socket.
 * The transport owns its descriptor. Any call may leave bytes pending().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/outq.h"
#include "base/slice.h"

struct tls_cert;
struct tls_client_ca;
struct transport;

struct transport_ops {
	const char *name;
	/*
	 * Continues the handshake: 0 once it is complete, -EAGAIN, -EPROTO, -errno. The first bytes
	 * of the peer may have come with its last handshake message: after 0 call recv() at once.
	 */
	int (*handshake)(struct transport *t);
	/*
	 * Reads at most cap bytes: > 0, 0 at the end of the peer's bytes, -EAGAIN, -errno. -EINTR:
	 * the received bytes had no data for the caller, and there may be more: call in the next
	 * turn, because others wait. One call receives a bounded number of bytes. Sets t->drained
	 * when the socket had no more, so that the caller can wait for the next event; after
	 * EPOLLRDHUP, call until 0.
	 */
	ssize_t (*recv)(struct transport *t, void *buf, size_t cap);
	/*
	 * Writes from the front of q, at most limit bytes of it, and consumes them: bytes, -EAGAIN,
	 * -errno. Less than limit and q had, or pending() after it, means that the socket is full:
	 * EPOLLOUT will come; unless a range of a file was refused (base/outq.h). With an empty q
	 * it sends pending bytes.
	 */
	ssize_t (*send)(struct transport *t, struct outq *q, size_t limit);
	/* True while bytes given to send() still wait inside the transport for the socket. */
	bool (*pending)(const struct transport *t);
	/*
	 * Ends the sending side: close_notify, then a half-close, after pending bytes: while
	 * pending() returns true keep calling send() with an empty q.
	 */
	void (*shutdown)(struct transport *t);
	/* Closes the descriptor, unless it is -1 because it was taken, and frees; sets *t NULL. */
	void (*close)(struct transport **t);
};

struct transport {
	const struct transport_ops *ops;
	int fd;
	bool drained;
	bool takes_ranges;  /* send() takes ranges of files (base/outq.h), whose bytes are not in
			     * memory; constant */
	const char *reason; /* of -EPROTO, static text: the peer's mistake; NULL: none */
	bool heard;         /* bytes of its handshake have come */
	/* After a handshake's -EPROTO: the peer's bytes instead, if they are text. No byte was sent
	 * to it. */
	struct slice said;
	/* Results of the handshake: set before it returns 0, then constant. */
	struct slice alpn;                  /* the protocol that ALPN chose ("h2"); n 0: none */
	const struct tls_cert *certificate; /* the one that was sent; NULL: none */
	const char *tls_version;            /* "TLSv1.3"; NULL: cleartext */
	const char *tls_cipher;             /* "TLS_AES_128_GCM_SHA256"; NULL: cleartext */
	/* The peer's certificate, which client_ca requested (NULL: none did). The other two are
	 * NULL if none was sent; they live as long as the transport. */
	const struct tls_client_ca *client_ca;
	const char *client_subject; /* RFC 4514 */
	const char *client_refused; /* why its certificate was refused */
};
