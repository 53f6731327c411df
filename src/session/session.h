/*
 * session: a peer's connection in its worker: its state, its place among the others, its timeout,
 * and its facts for requests. Its kind moves bytes, behind struct session_ops: conn/stream_conn.h
 * is the only kind. All on the loop's thread.
 */
#pragma once

#include "base/ref.h"
#include "base/states.h"
#include "event/loop.h"
#include "files/places.h"
#include "proto/proto.h"
#include "request/pace.h"

enum session_state {
#define SESSION_STATE(name, next, help) SESSION_##name,
#include "session/session_state.def"
	SESSION_STATES
};
extern const struct states session_states;

struct session;
struct sessions;

/* A session's need from its peer: decides the timeout. Small enough for registers. */
struct session_need {
	enum proto_wait wait;
	uint32_t requests; /* begun so far, modulo 2^32 */
	uint64_t passed;   /* bytes of that so far; 0 without bytes */
};

/* A session for operators. Texts live as long as the session. */
struct session_look {
	const struct addr *peer;
	const char *subject;   /* of its certificate; NULL: unknown */
	const char *protocol;  /* "h2", "h1"; NULL: unknown yet */
	const char *transport; /* "tcp", "tls" */
	const char *state;     /* a name of session_state.def */
	const char *waits_for; /* "the request body" */
	uint64_t left_ms;      /* until the timeout; UINT64_MAX: none */
	uint64_t age_ms;
	unsigned streams;             /* requests under way */
	struct proto_told told;       /* streams by their needs */
	uint32_t requests;            /* begun so far, modulo 2^32 */
	uint64_t bytes_in, bytes_out; /* of the protocol so far */
	size_t unread;                /* bytes received by the system, unread by h2d */
	size_t held;                  /* read bytes that the protocol takes later */
	size_t queued;                /* bytes made and unsent */
	bool admin;
	bool leaving;           /* told to leave, for others */
	bool heard;             /* the peer has sent a byte */
	char flags[FLAGS_TEXT]; /* names of the kind's own flags */
};

/* A kind of session. */
struct session_ops {
	/*
	 * Ends it at once, in any state: no callback follows. After the event batch the kind calls
	 * session_fini() and frees it.
	 */
	void (*kill)(struct session *s);
	/* Tells the peer to leave, and finishes open streams; see drain() of proto.h. */
	void (*drain)(struct session *s, bool patient);
	/* Asks it for memory of a lender. False: made and unsent output was refused. */
	bool (*ask)(struct session *s, struct lender *lender);
	struct session_need (*waits)(const struct session *s);
	/* The wait exceeded its timeout. True: the peer gets an answer, and then the end. False:
	 * kill it. */
	bool (*timed_out)(struct session *s);
	/* Called about once a second: checks for stalls by the peer. NULL, or why it ends. */
	const struct err *(*tick)(struct session *s, uint64_t now_ms);
	/* Sets the kind's facts: transport, told, bytes, heard, flags. */
	void (*look)(const struct session *s, struct session_look *look);
};

struct session {
	const struct session_ops *ops;
	struct sessions *all;
	struct http_conn http;
	struct place_share files; /* http has it, and pace */
	struct pace_conn pace;
	enum session_state state;
	const char *protocol; /* NULL until the first bytes decide */
	uint32_t drain_ms;    /* time that a protocol gives an idle peer to leave */
	uint64_t opened_ms;   /* clock_ms() at accept */
	struct timer timer;
	struct session_need need; /* its value when the timer was set */
	struct list node;
	struct list idle; /* in silent, idle or leaving of all; not linked: busy */
	bool leaving;     /* told to leave, for others */
	bool counted;     /* counted for its client; admission's own */
};

/*
 * Adds a new one, zeroed with its ops set, to all. as: its facts for requests, copied; its
 * certificate comes from the handshake.
 */
void session_init(struct session *s, struct sessions *all, const struct http_conn *as);

/* Removes it from all; for its kind, which frees it. */
void session_fini(struct session *s);

/* Takes the step; s is no longer idle. */
void session_go(struct session *s, enum session_state state);

/* The handshake is over: s opens, or drains if its worker does. */
void session_open(struct session *s);

/* Graceful end. The second time: the peer did not answer for a while, and is not awaited. */
void session_drain(struct session *s);

/* Ends it now. */
void session_kill(struct session *s);

void session_look(const struct session *s, struct session_look *look);

/* Logs the timeout of s; at debug, if the peer never sent a byte. */
void session_log_timeout(const struct session *s, const struct err *err);

/*
 * session_timer: a session's timeout, and its end. A timeout begins with the wait and is not
 * extended by bytes that do not end it; only output taken at the least rate extends the send
 * timeout, and a request body at that rate the body's.
 */

/* s is new: awaits its handshake. */
void session_timer_init(struct session *s);

/* Sets it to ms milliseconds, whatever it was before. */
void session_timer_set(struct session *s, uint64_t ms);

/* Called after a turn of s: sets the timeout of its present need. */
void session_timer_update(struct session *s);

/*
 * admission: decides if a client may have one connection more, by new-connections-per-second and
 * connections-per-client, over all workers. A kind of session asks once the client is known, before
 * any other work.
 */

/*
 * Counts s for its client. False: it exceeds a limit, which is logged, and s must end. Connections
 * of admin listeners, trusted proxies and exempt clients are not counted.
 */
bool admission_ask(struct session *s, const struct http_env *env);

/* True if a protocol is in use, or its first bytes are awaited. */
static inline bool session_speaks(const struct session *s)
{
	return s->state == SESSION_OPEN || s->state == SESSION_DRAIN;
}
