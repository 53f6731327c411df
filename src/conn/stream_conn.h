/*
 * stream_conn: the kind of session over one descriptor: only here do a transport and a protocol
 * meet. It owns both and the output queue between them. stream_conn.c has its life, stream_turn.c
 * its input and output, stream_handshake.c the part before the protocol.
 */
#pragma once

#include "base/slice.h"
#include "base/states.h"
#include "event/loop.h"
#include "net/transport.h"
#include "session/sessions.h"
#include "share/account.h"

/*
 * input_backlog: bytes that a connection has read and its protocol takes later: pipelined requests.
 * The connection owns it and does not read while it is not empty, which bounds it; an empty one
 * holds no memory.
 */

struct input_backlog {
	char *memory;
	struct slice bytes;
};

/* Appends a copy. -1 when memory is out. */
int input_backlog_add(struct input_backlog *h, const char *p, size_t n);

/* Drops bytes from the front. */
void input_backlog_skip(struct input_backlog *h, size_t n);

void input_backlog_clear(struct input_backlog *h);

/*
 * handshakes: a worker's TLS handshakes. They take memory before any request, so slow ones need
 * places, of which each client has a share. A burst of new ones is not limited: ten thousand
 * clients may return at once, and by one address. Stream_env has them, and stream_handshake.c
 * begins one.
 */

struct stream_conn;

struct handshakes {
	struct budget budget; /* places; an account has half of the rest, or 16 */
	struct list fresh;    /* without a place; struct stream_conn, the oldest first */
	struct list slow;     /* with a place: STREAM_SLOW */
};

/* max: places. */
void handshakes_init(struct handshakes *h, unsigned max);

/*
 * Begins or continues the handshake of c. Others that began more than a second ago, and wait for
 * their clients, take a place now; one that finds none in its client's share is closed, and if all
 * are taken the oldest is.
 */
void handshakes_go(struct stream_conn *c);

/* Ends it, or c's; harmless if it never began. */
void handshakes_end(struct stream_conn *c);

/*
 * turn_share: limits a connection's output in a turn of its worker's loop. Alone it makes
 * PIECE_MOST. Beside short answers of other connections, which wait until the turn is over, the
 * long ones share TURN_BYTES: eight downloads would otherwise be 2 MiB to encrypt and to copy
 * before each short answer. The worker's stream_env owns one; stream_turn reports each write.
 */

enum {
	PIECE_MOST = 256 * 1024,     /* bytes of one connection, before one write */
	PIECE_LEAST = 16 * 1024,     /* bytes: a frame, or a TLS record */
	TURN_BYTES = 384 * 1024,     /* bytes of all connections with long output, beside short
				      * ones */
	TURN_BYTES_TLS = 256 * 1024, /* bytes; the same, to be encrypted */
};

/* Writes of two turns: this one's are unknown before it is over. */
struct turn_share {
	uint64_t turn; /* of the last call, as loop->turns counts */
	struct {
		unsigned brief, lengthy;
	} now, before; /* in that turn, and in the one before */
};

/* A connection has written in this turn: a piece of PIECE_LEAST and more (lengthy), or else a whole
 * short answer. */
void turn_share_wrote(struct turn_share *s, uint64_t turn, bool lengthy);
/* Bytes that a connection makes in a turn, PIECE_LEAST to PIECE_MOST; most: of all of its kind,
 * TURN_BYTES or TURN_BYTES_TLS. */
size_t turn_share_piece(struct turn_share *s, uint64_t turn, size_t most);

enum stream_flag {
#define STREAM_FLAG(name, help) FLAGS_BIT(STREAM_##name),
#include "conn/stream_flag.def"
};

enum { STREAM_INPUT = 65536 };

/* Memory and settings shared by all of a worker, which owns it. */
struct stream_env {
	struct sessions *all;
	struct pool conns;  /* of struct stream_conn */
	struct pool blocks; /* of their outqs */
	struct handshakes handshakes;
	struct proto_conf proto;
	uint8_t *input; /* STREAM_INPUT bytes: the buffer of one recv() */
	struct turn_share share;
};

struct stream_conn {
	struct session session; /* the first member */
	struct stream_env *env;
	struct transport *transport;
	struct proto *proto; /* NULL until ALPN or the preface decides */
	struct proto_host host;
	struct outq out;
	unsigned flags; /* of enum stream_flag */
	int unsent;     /* bytes that the kernel may have unsent, see net/tcp.h */
	struct watch watch;
	struct task flush;         /* at the end of a turn: for output without its own event */
	struct task again;         /* next turn: leftovers of a budget */
	struct task reap;          /* frees */
	struct list shaking;       /* in env->handshakes during its handshake */
	uint64_t opened_us;        /* clock_read_us() at accept; set for TLS */
	uint64_t linger_end_ms;    /* clock_ms() when lingering ends */
	uint64_t lingered;         /* bytes that came meanwhile */
	uint64_t blocked_ms;       /* clock_ms() when it was last blocked */
	uint64_t taken;            /* bytes taken by the socket so far */
	uint64_t received;         /* bytes given to the protocol so far */
	uint64_t written_turn;     /* the turn of its last write: one write per turn */
	struct proto_sniff sniff;  /* the first bytes, until they identify the protocol */
	struct input_backlog held; /* input for later; while it is there, no reading */
};

/* -1 when memory is out. The caller sets proto. handshakes: most slow ones. */
int stream_env_init(struct stream_env *env, struct sessions *all, unsigned handshakes);
void stream_env_fini(struct stream_env *env);

/*
 * Takes the transport and begins. as: the connection's facts for requests, copied; its certificate
 * comes from the handshake. proxy: a PROXY header precedes that. -1 when memory is out: the caller
 * keeps the transport.
 */
int stream_conn_open(
	struct stream_env *env, struct transport *t, const struct http_conn *as, bool proxy);

static inline bool stream_is(const struct stream_conn *c, unsigned flags)
{
	return c->flags & flags;
}

static inline void stream_set(struct stream_conn *c, unsigned flags)
{
	c->flags |= flags;
}

static inline void stream_clear(struct stream_conn *c, unsigned flags)
{
	c->flags &= ~flags;
}

/*
 * stream_handshake: the part before the protocol: the PROXY header, on listeners with
 * proxy-protocol, and the handshake of the transport. A client that uses HTTP/1 in cleartext on a
 * TLS listener gets an answer in cleartext, like any request, that it should use https.
 */

/*
 * Continues. True once all is over: c->session.http has the client, and *said the number of bytes
 * of the protocol in env->input. False: more must come, or c is dead.
 */
bool stream_handshake(struct stream_conn *c, size_t *said);

/*
 * stream_turn: the turns of a connection: reads the socket, feeds the protocol, makes output and
 * writes it, once per turn; output due to other events is written at the end of the turn.
 */

/* c is new: from now on the loop and the protocol drive it. */
void stream_turn_init(struct stream_conn *c);
