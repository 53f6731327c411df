/*
 * conn: one connection, the only place where a transport and a protocol meet. It owns both, the
 * output queue between them, and the timeout. worker_take() makes it and the loop drives it; it
 * never reads a field of a request.
 */
#ifndef H2D_CONN_CONN_H
#define H2D_CONN_CONN_H

#include "conn/input_backlog.h"
#include "event/loop.h"
#include "files/places.h"
#include "net/transport.h"
#include "proto/proto.h"
#include "proto/sniff.h"

enum conn_state {
#define CONN_STATE(name, next, help) CONN_##name,
#include "conn/conn_state.def"
	CONN_STATES
};

/* Milliseconds. */
struct conn_timeouts {
	uint64_t handshake, header, body, send, keepalive;
};

/* What all connections of a worker share; the worker owns it. */
struct conn_env {
	struct loop *loop;
	struct pool conns;  /* of struct conn */
	struct pool blocks; /* of their outqs */
	struct proto_conf proto;
	struct conn_timeouts timeouts;
	struct list live; /* struct conn */
	unsigned nlive;
	unsigned nadmin;     /* of them, those of admin listeners */
	struct list silent;  /* struct conn, in the order of opened_ms: see conn_idle.h */
	struct list idle;    /* the same */
	struct list leaving; /* of them, those that were told to make room */
	unsigned nleaving;
	bool full;      /* connections wait: one that becomes idle may make room */
	bool draining;  /* new ones too */
	bool cutting;   /* and not to their end */
	uint8_t *input; /* CONN_INPUT bytes: what one recv() fills */
	void (*gone)(struct conn_env *env); /* one has ended, or is idle: there is room */
};

enum { CONN_INPUT = 65536 };

struct conn {
	struct conn_env *env;
	struct transport *transport;
	struct proto *proto; /* NULL until ALPN or the preface has told */
	struct proto_host host;
	struct http_conn http;
	struct place_share files; /* http has it */
	struct outq out;
	enum conn_state state;
	bool readable; /* the socket may have bytes: edge-triggered */
	bool hangup;   /* the peer's end is on its way: a short read does not mean drained */
	bool deaf;     /* nothing can be sent to the peer any more */
	bool eof;      /* the peer's end was read */
	bool blocked;  /* the socket took less than offered: wait for EPOLLOUT */
	bool tight;    /* it did so the last time: little is made ahead of it */
	bool closing;  /* no more input: send what there is, then end */
	bool draining; /* told to leave while the handshake was under way */
	struct watch watch;
	struct task flush;      /* at the end of a turn: what did not come from its own event */
	struct task again;      /* next turn: leftovers of a budget */
	struct task reap;       /* frees */
	uint64_t opened_ms;     /* clock_ms() at accept */
	uint64_t opened_us;     /* clock_read_us() then; set for TLS */
	uint64_t linger_end_ms; /* clock_ms() when it lingers no longer */
	uint64_t lingered;      /* bytes that came meanwhile */
	struct timer timer;
	enum proto_wait waits;   /* what the timer is set for */
	uint64_t waits_requests; /* proto->requests then */
	uint64_t waits_from;     /* bytes of it that had passed then */
	uint64_t taken;          /* bytes the peer took, ever */
	uint64_t written_turn;   /* the last turn it wrote in: one write per turn */
	struct list node;
	struct list idle;          /* linked: nothing is going on, or has been yet */
	bool leaving;              /* told to make room */
	struct sniff sniff;        /* the first bytes, until they tell the protocol */
	struct input_backlog held; /* input that the protocol takes later; nothing is read before */
};

void conn_env_init(struct conn_env *env, struct loop *loop);
/* Gives back what is kept for connections to come. */
void conn_env_trim(struct conn_env *env);
/* Asserts that no connection is left. */
void conn_env_fini(struct conn_env *env);

/*
 * Takes the transport and begins. as: what requests see of the connection, copied; its certificate
 * comes from the handshake. -1 when memory is out: the caller keeps the transport then.
 */
int conn_open(struct conn_env *env, struct transport *t, const struct http_conn *as);

/* Graceful end. A second time: the peer did not answer for a while, and is not waited for. */
void conn_drain(struct conn *c);

/* Ends it now. */
void conn_kill(struct conn *c);

#endif
