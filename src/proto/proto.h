/*
 * proto: the interface between a connection and its protocol: h2, or h1. Sans-I/O: bytes go in,
 * bytes come out, no descriptor; of clocks base/clock.h alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/outq.h"
#include "request/req.h"

struct ahead;
struct proto;

/* Bytes a second that a peer must take or send during a transfer, averaged over a timeout. */
enum { PROTO_LEAST_RATE = 64 };

/* Limits, the same for all connections of a worker. */
struct proto_conf {
	uint32_t max_concurrent_streams;
	uint32_t glitches;       /* credit for useless acts (h2_guard.h) */
	uint32_t receive_window; /* bytes of bodies that a connection may send before they are
				  * taken */
	struct ahead *ahead;     /* the sum of those bytes for all connections */
	struct http_env *env;
};

/* Calls of a protocol to its connection. */
struct proto_host {
	/* There is output, or an end: call output() at the end of this turn. */
	void (*wake)(struct proto_host *host);
	const struct http_conn *conn;
};

/* A connection's need from its peer: decides its timeout. */
enum proto_wait {
	PROTO_IDLE,   /* no traffic: keepalive */
	PROTO_HEADER, /* a header section (or the preface) is incomplete */
	PROTO_BODY,   /* the peer owes request body: enough bytes restart the time */
	PROTO_BUSY,   /* requests wait for this server */
	PROTO_SEND,   /* only the peer delays output or input: look() checks it */
	PROTO_OVER,   /* no more input or output: close once the output is written */
};

/* Reasons of a stream to wait. */
enum proto_why {
#define PROTO_WHY(name, text, wait, help) PROTO_WHY_##name,
#include "proto/proto_why.def"
	PROTO_WHYS
};

extern const struct proto_why_row {
	const char *text;     /* "its handler" */
	enum proto_wait wait; /* the connection's, without other reasons */
} proto_whys[PROTO_WHYS];

/* Called about once a second: checks if its handler keeps req waiting for too long. */
void proto_look_at(struct h2d_req *req, enum proto_why why, uint64_t now_ms);

/* A connection's protocol for operators. */
struct proto_told {
	unsigned why[PROTO_WHYS]; /* streams, by their reasons */
	size_t held;              /* bytes of request bodies not yet taken */
	bool full;                /* reading stops until there is room for them */
};

struct proto_ops {
	const char *name;
	/*
	 * Takes bytes, at most *n, and sets *n to how many. If fewer than all: call output() before
	 * the rest, because that much is waiting. If it still takes none, keep the rest, and offer
	 * it again after the next output(). NULL, or the peer's mistake: then output() is sent
	 * before the end.
	 */
	const struct err *(*input)(struct proto *p, const void *data, size_t *n, uint64_t now_ms);
	/*
	 * Puts output into q until it holds about limit bytes or there is no more. 1: there is
	 * more, 0: there is not, -1: memory is out, close.
	 */
	int (*output)(struct proto *p, struct outq *q, size_t limit);
	enum proto_wait (*waits)(const struct proto *p);
	/*
	 * Called about once a second, and more often after the peer's end: ends streams that the
	 * peer has stalled for too long. late: NULL, or the error of a need of waits() that has
	 * lasted too long. Returns the error that ends the connection (late, if it has no answer),
	 * or NULL.
	 */
	const struct err *(*look)(struct proto *p, uint64_t now_ms, const struct err *late);
	/* Asks the sources of all responses (base/ref.h). */
	void (*ask)(struct proto *p, struct lender *lender);
	/* Adds its facts to told, which is zeroed. */
	void (*tell)(const struct proto *p, struct proto_told *told);
	/*
	 * Graceful end: tell the peer, finish open streams; sources that returned BODY_LATER are
	 * asked again, because they may end now. patient: a peer that cannot be told before its
	 * next request may send it. Called a second time, not patient, when an idle peer did not
	 * answer for drain_ms: do not wait for it.
	 */
	void (*drain)(struct proto *p, bool patient);
	uint32_t drain_ms;
	/* Ends every stream and frees; sets *p NULL. Never from within a call of this protocol. */
	void (*close)(struct proto **p);
	/* Responses are sent in order: none overtakes earlier output. */
	bool in_order;
};

struct proto {
	const struct proto_ops *ops;
	uint64_t requests; /* begun on this connection so far */
	uint64_t body;     /* bytes of request bodies received so far */
	/* The peer has ended its output: closed windows never open, no body completes. */
	bool eof;
};

/* A protocol of a connection; free it by close(). NULL when memory is out. */
struct proto *h1_open(const struct proto_conf *conf, struct proto_host *host);
struct proto *h2_open(const struct proto_conf *conf, struct proto_host *host);

/* The first bytes of a connection, which identify its protocol, in any pieces (RFC 9113, 3.4). They
 * are kept, to feed the protocol. */
enum { PROTO_SNIFF_BYTES = 24 };

struct proto_sniff {
	unsigned n;
	uint8_t bytes[PROTO_SNIFF_BYTES];
};

enum proto_sniffed {
	PROTO_SNIFF_MORE, /* so far the beginning of HTTP/2's preface */
	PROTO_SNIFF_H2,   /* the preface */
	PROTO_SNIFF_H1,   /* other bytes, for which HTTP/1 has an answer */
};

/* The next n bytes; *taken: how many of them were kept. */
enum proto_sniffed proto_sniff(struct proto_sniff *s, const uint8_t *p, size_t n, size_t *taken);

/* "3 for its handler, 1 for flow control"; "" without streams. Returns buf. */
enum { PROTO_TOLD_TEXT = 400 };
const char *proto_told_text(const struct proto_told *told, char buf[PROTO_TOLD_TEXT]);

/* Frees the memory that is kept for sessions of nghttp2. */
void h2_mem_trim(void);
/* Frees all that h2 keeps, at a worker's end. */
void h2_fini(void);
