/*
 * req: one request from its first header to its access log line, the same for every protocol. The
 * protocol's stream embeds it, sets the head, calls req_start(), feeds body pieces, and sends the
 * reply; handlers see it through h2d/handler.h only. All memory it points to is in its arena or
 * borrowed for its life.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/conf_pos.h"
#include "base/err.h"
#include "base/list.h"
#include "base/states.h"
#include "event/loop.h"
#include "http/field.h"
#include "request/reply.h"
#include "request/req_record.h"
#include "rules/route.h"
#include "rules/site.h"

enum { STREAM_INTERIM_FIELDS_MAX = 16 };

/*
 * The calls from a request to its protocol, by the request core only. None of them calls back into
 * the request before it returns.
 */
struct stream_ops {
	/* req->reply is complete: send its head, then its body. */
	void (*reply)(struct h2d_req *req);
	/* The body source may have bytes again after BODY_LATER. */
	void (*resume)(struct h2d_req *req);
	/*
	 * n bytes of request body are used: gives the credit back to the peer. 0: a handler now
	 * waits for the body, which a peer may need to know (RFC 9110, 10.1.1).
	 */
	void (*consume)(struct h2d_req *req, size_t n);
	/*
	 * Sends an interim response (RFC 9110, 15.2) with these headers, which are copied, before
	 * the reply. It uses no memory of the request: there may be any number. It may be lost
	 * silently: peers must not need it.
	 */
	void (*interim)(
		struct h2d_req *req, int status, const struct field *fields, unsigned nfields);
	/*
	 * Ends the stream of a reply that is under way, so that the client notices that it is
	 * incomplete. May be NULL if no body comes during a reply.
	 */
	void (*cut)(struct h2d_req *req);
	/*
	 * The next reply, a 200 with content, opens the tunnel of req->upgrade: all later input is
	 * body, until the end of content ends both. NULL: no request has one.
	 */
	void (*tunnel)(struct h2d_req *req);
};

/*
 * Bytes of the largest pieces. Pieces end at multiples of it in the body, so that a body written
 * unchanged begins each piece on a page of the file: across two, it costs twice as much.
 */
enum { BODY_PIECE = 64 << 10 };

struct body_piece {
	struct body_piece *next;
	size_t n, cap;
	bool pooled;
	char bytes[];
};

/* Empty when zeroed. */
struct body_queue {
	struct body_piece *first, *last;
	size_t n;       /* bytes in it */
	size_t cost;    /* memory of its pieces */
	size_t batch;   /* bytes in it when all were taken: as many may come again */
	uint64_t total; /* bytes put in so far */
	bool ended;     /* the end of the body came, too */
};

struct req_hook; /* request/req_body.h */
struct http_conn;
struct account;     /* share/account.h */
struct place_share; /* files/places.h */

enum http_tls {
	HTTP_TLS_NONE,
	HTTP_TLS_OURS,
	HTTP_TLS_PROXYS, /* the PROXY header reports that the client used TLS to the proxy */
	HTTP_TLS_MISSED, /* cleartext, on a TLS listener: requests get this answer */
};

/* Timeouts of a listener's connections, in milliseconds. */
struct http_timeouts {
	uint32_t handshake, header, body, send, keepalive;
};

/* A connection's facts for its requests: they share it, the connection owns it. */
struct http_conn {
	struct addr peer; /* by accept(2); may be replaced before the first request */
	uint16_t port;    /* of the listener; 0: a unix socket */
	bool trusted;     /* peer is a trusted proxy: its headers about clients count */
	enum http_tls tls;
	/* Results of the handshake: "TLSv1.3", "TLS_AES_128_GCM_SHA256"; NULL: cleartext. */
	const char *tls_version, *tls_cipher;
	const struct err *error; /* the reason of its end; NULL: open, or unknown */
	bool admin;              /* the connection came in on an admin listener */
	bool only_h2;            /* the listener refuses HTTP/1 */
	bool takes_ranges;       /* its queue may have ranges of files (base/outq.h) */
	unsigned nadmin_hosts;   /* host names it accepts, beside addresses and localhost */
	char *const *admin_hosts;
	/* The configuration's line that makes the listener redirect to https. NULL: it serves. */
	const struct conf_pos *redirect_at;
	uint16_t https_port;                /* the redirect's port; 0: that of http_env */
	const struct tls_cert *certificate; /* see struct site: the one sent by TLS; NULL:
					     * cleartext */
	/* The authorities requested from the client (see struct site); its certificate's facts (see
	 * net/transport.h); none if that was refused. */
	const struct tls_client_ca *client_ca;
	const char *client_subject, *client_refused;
	/* True if the certificate covers host, when a request is for another site than its own.
	 * NULL: it covers all. */
	bool (*covers)(const struct tls_cert *certificate, struct slice host);
	struct http_timeouts timeouts;
	struct pace_conn *pace;    /* content sent to it (request/pace.h); NULL in tests */
	struct place_share *files; /* its share of the files that may be open; NULL in tests */
	struct account *account;   /* peer's, open; NULL: of an admin listener, or in tests */
};

struct http_env;
struct accounts;   /* share/account.h */
struct admin;      /* board/admin.h */
struct api;        /* api/handler_worker.h */
struct upstreams;  /* upstream/upstream.h */
struct auth_queue; /* auth/auth_queue.h */
struct gate;       /* request/gate.c */
struct holding;    /* share/tally.h */
struct pace;       /* request/pace.h */
struct pacer;      /* request/pace.h */
struct params;     /* api/params.c */
struct tally;      /* share/tally.h */
struct trace_step; /* request/trace.h */

/* Settings of all requests of a worker, constant while it serves. */
struct http_conf {
	const struct route_table *routes;
	const struct h2d_handler *fallback; /* answers paths without a route: the document root */
	const struct h2d_handler *health;   /* answers the path of a site's health check */
	const struct h2d_handler *proxy;    /* answers in locations with a proxy */
	struct slice server;                /* of the server header */
	struct slice instance_name;         /* of access logs in JSON; n 0: none */
	size_t header_size;                 /* client-header-size */
	unsigned header_fields;             /* client-header-fields */
	uint64_t handler_ms;                /* timeouts.handler; 0: any time */
	uint16_t https_port;                /* port of redirect_to_https; 0: none, 404 */
	bool request_ids; /* answers, error pages and the access log have an ID of each request
			   * (req_id.h) */
	bool timed;       /* the access log has durations: the clock is read for each, else the
			   * loop's is used */
	bool websockets;  /* a route takes WebSockets, or an application may */
	/*
	 * Decisions are kept with each request (request/trace.h), and logged at debug at its end.
	 */
	bool traced;
	/* Called only when traced: false leaves the request without an answer. NULL: true. */
	bool (*starts)(struct h2d_req *req, const struct h2d_handler *handler);
	/*
	 * Answers with status and a file of the site as content, without conditions or ranges;
	 * falls back to reply_own_page() if it is missing. NULL: no error pages. The server sets
	 * files/reply_file's.
	 */
	void (*error_page)(struct h2d_req *req, int status, struct slice file);
};

/* A worker's facts for its requests: they share it, the worker owns it. */
struct http_env {
	struct http_conf conf;
	struct slice date; /* of the date header; the bytes change in place, once a second */
	time_t date_s; /* of that header, in seconds since 1970: up to a second behind the clock */
	bool draining;
	struct loop *loop;             /* NULL in tests whose handlers never wait */
	struct api *api;               /* for handlers' calls; NULL in tests without any */
	struct files *files;           /* of files/files.h; NULL in tests without files */
	struct upstreams *upstreams;   /* NULL: no location has a proxy */
	struct accounts *accounts;     /* of clients; NULL in tests, and if not counted */
	struct pacer *pacer;           /* NULL: content without limit */
	struct holding *uploads;       /* of clients; NULL: not counted */
	struct tally *tally;           /* of all workers; NULL: no rates */
	const struct sites *sites;     /* never NULL; sites_plain in tests */
	struct site_memo site_memo;    /* of sites */
	struct auth_queue *auth_queue; /* checks passwords; NULL if no location has auth */
	struct admin *admin;           /* makes admin pages; NULL if not needed */
	/* The request is gone: write its access log line. May be NULL. */
	void (*finished)(struct http_env *env, struct h2d_req *req);
	/* A server of an application, by its number in sites, has answered (err NULL), or failed.
	 */
	void (*peer_counts)(struct http_env *env, unsigned peer, const struct err *err);
};

enum req_state {
#define REQ_STATE(name, next, help) REQ_##name,
#include "request/req_state.def"
};
extern const struct states req_states;

enum req_body_state {
#define REQ_BODY_STATE(name, next, help) REQ_BODY_##name,
#include "request/req_body_state.def"
	REQ_BODY_STATES
};

/*
 * belonging: an object that a handler has begun for a request and that ends with it: a timer, a job
 * of a thread, a waker, a subscription. A member of its owner, which adds it on the loop and ends
 * it.
 */
struct belonging {
	struct list node; /* of the request's */
	/* The request is gone: called after gone(), already off the list. */
	void (*leave)(struct belonging *b);
};

/* all: zeroed by its owner, until the first is added. */
static inline void belonging_add(
	struct list *all, struct belonging *b, void (*leave)(struct belonging *b))
{
	if (all->next == NULL)
		list_init(all);
	b->leave = leave;
	list_append(all, &b->node);
}

static inline bool belonging_any(const struct list *all)
{
	return all->next != NULL && !list_empty(all);
}

enum { REQ_ARENA_FIRST = 1024, REQ_ID_BYTES = 16 };

/* Time spent waiting for a handler alone; proto_look_at()'s own. */
struct handler_late {
	uint32_t ms;
	uint32_t looked_ms, bytes_in; /* at the last check, modulo 2^32 */
	bool looked;
};

struct h2d_req {
	struct arena arena;
	const struct stream_ops *stream;
	struct http_env *env;
	const struct http_conn *conn;
	enum req_state state;

	/* The head: set by the protocol before req_start(). */
	struct slice protocol; /* "HTTP/2.0" for logs */
	struct slice upgrade;  /* the protocol that the client asks for on this stream (RFC 9110,
				* 7.8; RFC 8441, 4): "websocket"; n 0: none */
	struct slice method_text, scheme, authority, target;
	struct field *fields;                      /* regular fields only */
	unsigned nfields, fields_cap, fields_room; /* cap: of the room, how many are allowed now */
	size_t head_size;    /* of names, values and 32 each (RFC 9113, 6.5.2) */
	unsigned ncookies;   /* of the fields, those named cookie, which count as one */
	bool head_too_large; /* over one of their limits: answered with 431 */
	bool has_body;       /* the head did not end the stream */
	bool complete;       /* the whole reply was given to the connection */
	bool owes;           /* the handler owes the reply */
	struct handler_late late;
	enum req_body_state body_state;
	struct body_queue body_queue; /* waiting pieces, and the end */
	struct task body_task;        /* continues them after a pause; fn NULL: there was none */
	uint64_t body_length;         /* content-length; BODY_UNKNOWN without one */
	uint64_t body_left;           /* of client-max-body-size, once the body may be taken */
	uint64_t taken;               /* bytes for which the handler has given no credit back */
	const struct req_hook *hook;  /* NULL: none */
	void *hook_state;

	/* Set by req_start(). */
	const struct addr *client; /* read by req_client(); NULL: the peer of conn */
	const char *peer_text;     /* given to a handler; NULL: none asked */
	bool client_https;         /* read by req_client_https() */
	struct account *account; /* client's, open since req_account(); NULL: not yet, or conn's */
	const struct site *site; /* not NULL from then on */
	const struct location *location; /* not NULL from then on */
	enum h2d_method method;
	struct slice path, query;
	struct params *query_params; /* api/params.c; NULL: not requested */
	char *cookies;               /* a copy in which values end; NULL: not requested */
	struct trailers *trailers;   /* NULL: none, or dropped */
	struct params *form_params;  /* of the body; NULL: none was read */
	struct slice user;     /* authenticated; n 0: no password was requested, or it was wrong */
	struct slice id;       /* request/req_id.h; n 0: not requested */
	struct gate *gate;     /* a password is being checked; NULL: none */
	int error_status;      /* of the error whose page is being looked for; 0: none */
	unsigned interim_size; /* of the handler's interim responses */
	unsigned error_fields; /* number of the error's own headers */
	const struct h2d_handler *handler; /* NULL: answered without one */
	void *handler_state;
	struct list belongings; /* struct belonging, all begun by the handler */

	struct pace *pace;                     /* the content's rate; NULL: no limit */
	struct trace_step *trace, *trace_last; /* request/trace.h; NULL: not traced */

	struct req_record record; /* of its way, for the access log and the metrics */
	struct route_match match; /* not cleared by req_init() from here on */
	struct reply reply;
	char id_text[2 * REQ_ID_BYTES + 1];
	char first[REQ_ARENA_FIRST]; /* the arena's first memory */
};

/* Begins a request in zeroed or reused memory; the protocol embeds it. */
void req_init(struct h2d_req *req, struct http_env *env, const struct http_conn *conn,
	const struct stream_ops *stream);

/* The only writer of req->state: asserts the predecessor. */
static inline void req_go(struct h2d_req *req, enum req_state state)
{
	STATES_STEP(&req_states, req->state, state);
}

/* The header section is complete: finds the route, calls the handler. A reply may follow at once.
 */
void req_start(struct h2d_req *req);

/* Makes handler the request's, and calls it. */
void req_hand_to(struct h2d_req *req, const struct h2d_handler *handler);

/* True if the client asks for a WebSocket. */
static inline bool req_asks_websocket(const struct h2d_req *req)
{
	return slice_eq(req->upgrade, SLICE("websocket"));
}

/*
 * The request is malformed, or incomplete: no handler gets it, and gone() of a handler that has it
 * is called. Answers with status unless a reply was given; one that the handler makes from the body
 * (duplex) is cut off. Before or after req_start().
 */
void req_refuse(struct h2d_req *req, int status);

/*
 * n bytes of its body, without credit, are lost for err; later ones would be mistaken for them.
 * Refuses the request, or cuts off the reply.
 */
void req_lose(struct h2d_req *req, const struct err *err, size_t n);

/* Takes back an unsent reply, so that the request can be refused. */
void req_retract(struct h2d_req *req);

/* For sources: bytes may be ready again. */
void req_resume(struct h2d_req *req);

/* The protocol has put the last byte of the reply into its output. */
void req_sent_all(struct h2d_req *req);

/* The stream is over, for any reason: calls the handler's gone(), logs access, closes the source,
 * frees the arena. */
void req_fini(struct h2d_req *req);
