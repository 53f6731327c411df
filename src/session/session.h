/*
 * session: a peer's connection as its worker knows it: its state, its place among the others, its
 * timeout, and what requests see of it. How bytes come and go is its kind's, behind struct
 * session_ops: conn/stream_conn.h is the one kind there is. Worker and session_timer call
 * sessions and know no kind. All on the loop's thread.
 */
#ifndef H2D_SESSION_SESSION_H
#define H2D_SESSION_SESSION_H

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

/* A session's need of its peer: decides the timeout. Small enough for registers. */
struct session_need {
	enum proto_wait wait;
	uint32_t requests; /* begun, ever, modulo 2^32 */
	uint64_t passed;   /* bytes of what is waited for, ever; 0 where no bytes are */
};

/* A session as an operator sees it. Texts live as long as the session. */
struct session_look {
	const struct addr *peer;
	const char *subject;   /* of its certificate; NULL: none is known */
	const char *protocol;  /* "h2", "h1"; NULL: not known yet */
	const char *transport; /* "tcp", "tls" */
	const char *state;     /* a name of session_state.def */
	const char *waits_for; /* "the request body" */
	uint64_t left_ms;      /* until that was waited for too long; UINT64_MAX: for ever */
	uint64_t age_ms;
	unsigned streams;             /* requests that are under way */
	struct proto_told told;       /* streams by what they wait for */
	uint32_t requests;            /* begun, ever, modulo 2^32 */
	uint64_t bytes_in, bytes_out; /* of the protocol, ever */
	size_t unread;                /* bytes that the system has received, and h2d has not read */
	size_t held;                  /* bytes that were read, and the protocol takes later */
	size_t queued;                /* bytes that are made, and not sent */
	bool admin;
	bool leaving;           /* told to make room for others */
	bool heard;             /* the peer has said something */
	char flags[FLAGS_TEXT]; /* names of the kind's own flags */
};

/* A kind of session. */
struct session_ops {
	/*
	 * Ends it at once, in whatever state it is: nothing is called back for it any more. Behind
	 * the event batch the kind calls session_fini() and frees it.
	 */
	void (*kill)(struct session *s);
	/* Tells the peer to leave, and finishes what is open; as drain() of proto.h. */
	void (*drain)(struct session *s, bool patient);
	/* Asks what it holds for a lender. False: what is made and not sent was refused. */
	bool (*ask)(struct session *s, struct lender *lender);
	struct session_need (*waits)(const struct session *s);
	/* The need was waited for too long. True: the peer gets an answer to that, and then the
	 * end. False: kill it. */
	bool (*timed_out)(struct session *s);
	/* Called about once a second: looks for what the peer holds up. NULL, or why it ends. */
	const struct err *(*tick)(struct session *s, uint64_t now_ms);
	/* Fills in what the kind knows: transport, told, bytes, heard, flags. */
	void (*look)(const struct session *s, struct session_look *look);
};

struct session {
	const struct session_ops *ops;
	struct sessions *all;
	struct http_conn http;
	struct place_share files; /* http has it, and pace */
	struct pace_conn pace;
	enum session_state state;
	const char *protocol; /* NULL until the first bytes have told */
	uint32_t drain_ms;  /* how long a protocol waits for an idle peer that was told to leave */
	uint64_t opened_ms; /* clock_ms() at accept */
	struct timer timer; /* session_timer's own, as what follows */
	struct session_need need; /* as it was when the timer was set */
	struct list node;
	struct list idle; /* in silent, idle or leaving of all; not linked: it has work */
	bool leaving;     /* told to make room */
	bool counted;     /* among the connections of its client; admission's own */
};

/*
 * A new one, zeroed and with its ops set, joins all. as: what requests see of the connection,
 * copied; its certificate comes from the handshake.
 */
void session_init(struct session *s, struct sessions *all, const struct http_conn *as);

/* Leaves all; for its kind, which frees it. */
void session_fini(struct session *s);

/* Nothing is going on on s from now on. It may be so already: its time begins anew. */
void session_idle_begin(struct session *s);

/* Something is. It need not have been idle; without a protocol it goes on being silent. */
void session_idle_end(struct session *s);

/* Takes the step; s is idle no more. */
void session_go(struct session *s, enum session_state state);

/* The handshake is over: s is open, or drains if its worker does. */
void session_open(struct session *s);

/* Graceful end. A second time: the peer did not answer for a while, and is not waited for. */
void session_drain(struct session *s);

/* Ends it now. */
void session_kill(struct session *s);

void session_look(const struct session *s, struct session_look *look);

/* Says in the log that s was waited for too long; at debug, if it has never said a byte. */
void session_log_timeout(const struct session *s, const struct err *err);

/* Whether a protocol is spoken, or its first bytes are awaited. */
static inline bool session_speaks(const struct session *s)
{
	return s->state == SESSION_OPEN || s->state == SESSION_DRAIN;
}

#endif
