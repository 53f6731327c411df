/*
 * stream_conn: the kind of session whose bytes come over one descriptor: the only place where a
 * transport and a protocol meet. It owns both and the output queue between them. stream_conn.c is
 * its life, stream_turn.c its input and output, stream_handshake.c what precedes the protocol.
 * worker_take() makes one and the loop drives it; it never reads a field of a request.
 */
#ifndef H2D_CONN_STREAM_CONN_H
#define H2D_CONN_STREAM_CONN_H

#include "base/flags.h"
#include "conn/handshakes.h"
#include "conn/input_backlog.h"
#include "conn/turn_share.h"
#include "event/loop.h"
#include "net/transport.h"
#include "session/sessions.h"

enum stream_flag {
#define STREAM_FLAG(name, help) FLAGS_BIT(STREAM_##name),
#include "conn/stream_flag.def"
};

enum { STREAM_INPUT = 65536 };

/* Memory and settings that all of a worker share; the worker owns it. */
struct stream_env {
	struct sessions *all;
	struct pool conns;  /* of struct stream_conn */
	struct pool blocks; /* of their outqs */
	struct handshakes handshakes;
	struct proto_conf proto;
	uint8_t *input; /* STREAM_INPUT bytes: what one recv() fills */
	struct turn_share share;
};

struct stream_conn {
	struct session session; /* the first member */
	struct stream_env *env;
	struct transport *transport;
	struct proto *proto; /* NULL until ALPN or the preface has told */
	struct proto_host host;
	struct outq out;
	unsigned flags; /* of enum stream_flag */
	int unsent;     /* bytes that the kernel may have unsent, see net/unsent.h */
	struct watch watch;
	struct task flush;         /* at the end of a turn: what did not come from its own event */
	struct task again;         /* next turn: leftovers of a budget */
	struct task reap;          /* frees */
	struct list shaking;       /* in env->handshakes while it is one of them */
	uint64_t opened_us;        /* clock_read_us() at accept; set for TLS */
	uint64_t linger_end_ms;    /* clock_ms() when it lingers no longer */
	uint64_t lingered;         /* bytes that came meanwhile */
	uint64_t blocked_ms;       /* clock_ms() when it was blocked last */
	uint64_t taken;            /* bytes the socket took, ever */
	uint64_t received;         /* bytes the protocol was given, ever */
	uint64_t written_turn;     /* the last turn it wrote in: one write per turn */
	struct proto_sniff sniff;  /* the first bytes, until they tell the protocol */
	struct input_backlog held; /* input that the protocol takes later; nothing is read before */
};

/* -1 when memory is out. proto is the caller's to set. handshakes: slow ones, at most. */
int stream_env_init(struct stream_env *env, struct sessions *all, unsigned handshakes);
/* Gives back what is kept for connections to come. */
void stream_env_trim(struct stream_env *env);
void stream_env_fini(struct stream_env *env);

/*
 * Takes the transport and begins. as: what requests see of the connection, copied; its certificate
 * comes from the handshake. proxy: a PROXY header precedes that. -1 when memory is out: the caller
 * keeps the transport then.
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

#endif
