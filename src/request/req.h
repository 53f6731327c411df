/*
 * req: one request from its first field to its access log line, the same for every protocol. The
 * protocol's stream embeds it, fills in the head, calls req_start(), feeds body pieces, and sends
 * what the reply holds; handlers see it through h2d/handler.h only. Everything it points to lives
 * in its arena or is borrowed for its life.
 */
#ifndef H2D_REQUEST_REQ_H
#define H2D_REQUEST_REQ_H

#include <stdbool.h>
#include <time.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/conf_pos.h"
#include "base/err.h"
#include "base/states.h"
#include "event/loop.h"
#include "http/field.h"
#include "request/belonging.h"
#include "request/body_queue.h"
#include "request/reply.h"
#include "request/req_record.h"
#include "rules/route.h"
#include "rules/site.h"

enum { STREAM_INTERIM_FIELDS_MAX = 16 };

/*
 * The stream seam: from a request to its protocol. Called by the request core only. None of them
 * calls back into the request before it returns.
 */
struct stream_ops {
	/* req->reply is complete: send its head, then its body. */
	void (*reply)(struct h2d_req *req);
	/* The body source may have bytes again after it answered BODY_LATER. */
	void (*resume)(struct h2d_req *req);
	/*
	 * n bytes of request body are worked off: give the credit back to the peer. 0: from now on
	 * a handler waits for the body, which a peer may want to know (RFC 9110, 10.1.1).
	 */
	void (*consume)(struct h2d_req *req, size_t n);
	/*
	 * An interim response (RFC 9110, 15.2) with these fields, which are copied, goes out before
	 * the reply. It costs nothing of the request's memory: there may be any number. Nothing is
	 * said if it does not go out: peers must not need it.
	 */
	void (*interim)(
		struct h2d_req *req, int status, const struct field *fields, unsigned nfields);
	/*
	 * Ends the stream of a reply that is under way, so that the client sees that it is not
	 * whole. It may be NULL where no body comes beside a reply.
	 */
	void (*cut)(struct h2d_req *req);
	/* Whether its head asks for a WebSocket. NULL: this kind of request never does. */
	bool (*asks_tunnel)(struct h2d_req *req);
	/*
	 * The reply that comes next, a 200 with content, opens the tunnel that it asks for:
	 * whatever comes from now on is body, until the end of content ends both.
	 */
	void (*tunnel)(struct h2d_req *req);
};

struct req_hook; /* request/req_body.h */
struct http_conn;
struct account;     /* share/account.h */
struct place_share; /* files/places.h */

enum http_tls {
	HTTP_TLS_NONE,
	HTTP_TLS_OURS,
	HTTP_TLS_PROXYS, /* the PROXY header says that the client came to the proxy by TLS */
	HTTP_TLS_MISSED, /* cleartext, on a listener of TLS: requests are told so */
};

/* A connection as its requests see it: they share it, the connection owns it. */
struct http_conn {
	struct addr peer; /* as accept(2) told; may be replaced before the first request */
	uint16_t port;    /* of the listener; 0: a unix socket */
	bool trusted;     /* peer is a trusted proxy: what it adds to requests is believed */
	enum http_tls tls;
	/* As the handshake settled them: "TLSv1.3", "TLS_AES_128_GCM_SHA256"; NULL: cleartext. */
	const char *tls_version, *tls_cipher;
	const struct err *error; /* the reason of its end; NULL: it is there, or nobody said it */
	bool admin;              /* the connection came in on an admin listener */
	bool only_h2;            /* the listener does not speak HTTP/1 */
	bool takes_ranges;       /* its queue may have ranges of files (base/outq.h) */
	unsigned nadmin_hosts;   /* names that it answers to, beside addresses and localhost */
	char *const *admin_hosts;
	/* The listener only sends to https: where the configuration says so. NULL: it serves. */
	const struct conf_pos *redirect_at;
	uint16_t https_port;                /* the port it sends to; 0: that of http_env */
	const struct tls_cert *certificate; /* as in struct site: TLS showed it; NULL: cleartext */
	/* By whom the client was asked for a certificate (as in struct site); what it has shown, in
	 * the words of net/transport.h; nothing where that was not good. */
	const struct tls_client_ca *client_ca;
	const char *client_subject, *client_refused;
	/* Whether the certificate of this connection is good for host. NULL: it is for all. */
	bool (*covers)(const struct http_conn *conn, struct slice host);
	void *owner;               /* for covers() */
	struct pace_conn *pace;    /* content it was sent (request/pace.h); NULL in tests */
	struct place_share *files; /* its share of the files that may be open; NULL in tests */
	struct account *account;   /* peer's, open; NULL: of an admin listener, or in tests */
};

struct http_env;
struct accounts;   /* share/account.h */
struct admin;      /* board/admin.h */
struct api;        /* api/handler_worker.h */
struct auth_queue; /* auth/auth_queue.h */
struct gate;       /* request/gate.c */
struct holding;    /* share/holding.h */
struct pace;       /* request/pace.h */
struct pacer;      /* request/pace.h */
struct params;     /* api/params.c */
struct tally;      /* share/tally.h */
struct trailers;   /* request/trailers.h */
struct trace_step; /* request/trace.h */

/* Settings of all requests of a worker; nothing of them changes while it serves. */
struct http_conf {
	const struct route_table *routes;
	const struct h2d_handler *fallback; /* answers what no route owns: the document root */
	const struct h2d_handler *health;   /* answers the path that a site calls its health */
	struct slice server;                /* of the server field */
	struct slice instance_name;         /* of access logs in JSON; n 0: they have none */
	size_t header_size;                 /* client-header-size */
	unsigned header_fields;             /* client-header-fields */
	uint64_t handler_ms;                /* timeouts.handler; 0: any time */
	uint16_t https_port;                /* where redirect_to_https sends to; 0: nowhere, 404 */
	bool request_ids; /* answers, error pages and the access log name each request (req_id.h) */
	bool timed;      /* the access log tells how long requests take: the clock is read for each,
			    else the loop's has to do */
	bool websockets; /* a route takes WebSockets */
	/*
	 * Decisions are kept with each request (request/trace.h), and written at debug when it is
	 * over.
	 */
	bool traced;
	/*
	 * Only asked when traced: whether handler is to be started; if not, the request stays
	 * without an answer. NULL: it is.
	 */
	bool (*starts)(struct h2d_req *req, const struct h2d_handler *handler);
	/*
	 * Answers with status and a file of the site as content, without conditions or ranges;
	 * falls back to reply_own_page() if it is not there. NULL: no error pages. Set by the
	 * server to files/reply_file's.
	 */
	void (*error_page)(struct h2d_req *req, int status, struct slice file);
};

/* A worker as its requests see it: they share it, the worker owns it. */
struct http_env {
	struct http_conf conf;
	struct slice date; /* of the date field; the bytes change in place, once a second */
	time_t date_s; /* of that field, in seconds since 1970: up to a second behind the clock */
	bool draining;
	struct loop *loop;             /* NULL in tests whose handlers never wait */
	struct api *api;               /* for what handlers call; NULL in tests without any */
	struct files *files;           /* of files/files.h; NULL in tests that serve none */
	struct accounts *accounts;     /* of clients; NULL in tests, and where none is kept */
	struct pacer *pacer;           /* NULL: content goes as fast as it can */
	struct holding *uploads;       /* of clients; NULL: they are not counted */
	struct tally *tally;           /* of all workers; NULL: no rates are held */
	const struct sites *sites;     /* never NULL; sites_plain in tests */
	struct site_memo site_memo;    /* of sites */
	struct auth_queue *auth_queue; /* checks passwords; NULL where no location has auth */
	struct admin *admin;           /* makes admin pages; NULL where none is asked for */
	/* The request is gone: write its access log line. May be NULL. */
	void (*finished)(struct http_env *env, struct h2d_req *req);
};

enum req_state {
#define REQ_STATE(name, next, help) REQ_##name,
#include "request/req_state.def"
	REQ_STATES
};
extern const struct states req_states;

enum req_body_state {
#define REQ_BODY_STATE(name, next, help) REQ_BODY_##name,
#include "request/req_body_state.def"
	REQ_BODY_STATES
};

enum { REQ_ARENA_FIRST = 1024, REQ_ID_BYTES = 16 };

/* For how long a handler alone was waited for; request/handler_late.c's own. */
struct handler_late {
	uint32_t ms;
	uint32_t looked_ms, bytes_in; /* as they were at the last look, modulo 2^32 */
	bool looked;
};

struct h2d_req {
	struct arena arena;
	const struct stream_ops *stream;
	struct http_env *env;
	const struct http_conn *conn;
	enum req_state state;

	/* The head, as it came: filled in by the protocol before req_start(). */
	struct slice protocol; /* "HTTP/2.0" as logs write it */
	struct slice method_text, scheme, authority, target;
	struct field *fields;                      /* regular fields only */
	unsigned nfields, fields_cap, fields_room; /* cap: of the room, how many there may be now */
	size_t head_size;    /* of names, values and 32 each (RFC 9113, 6.5.2) */
	unsigned ncookies;   /* of the fields, those named cookie, which count as one */
	bool head_too_large; /* over one of their limits: answered with 431 */
	bool has_body;       /* the head did not end the stream */
	bool complete;       /* the whole reply was given to the connection */
	bool owes;           /* the handler has not said what the reply is */
	struct handler_late late;
	enum req_body_state body_state;
	struct body_queue body_queue; /* pieces that wait, and the end */
	struct task body_task;        /* hands them on after a pause; fn NULL: there was none */
	uint64_t body_length;         /* content-length; BODY_UNKNOWN without one */
	uint64_t body_left;           /* of client-max-body-size, once somebody may take it */
	uint64_t taken;               /* bytes that the handler has given no credit back for */
	const struct req_hook *hook;  /* NULL: none */
	void *hook_state;

	/* Made by req_start(). */
	const struct addr *client; /* read by req_client(); NULL: the peer of conn */
	const char *peer_text;     /* as a handler was told; NULL: none has asked */
	bool client_https;         /* read by req_client_https() */
	struct account *account; /* client's, open since req_account(); NULL: not yet, or conn's */
	const struct site *site; /* never NULL from then on */
	const struct location *location; /* never NULL from then on */
	enum h2d_method method;
	struct slice path, query;
	struct params *query_params; /* api/params.c; NULL: nobody has asked for one */
	char *cookies;               /* a copy in which values end; NULL: nobody has asked */
	struct trailers *trailers;   /* request/trailers.h; NULL: none came, or nobody took them */
	struct params *form_params;  /* of the body; NULL: none was read */
	struct slice
		user;    /* with the right credentials; n 0: nobody was asked, or they were wrong */
	struct slice id; /* request/req_id.h; n 0: nobody has asked for it */
	struct gate *gate;     /* a password is being checked; NULL: none is */
	int error_status;      /* an error page is being looked for, to answer this; 0: none is */
	unsigned interim_size; /* of what the handler has sent in front of its answer */
	unsigned error_fields; /* how many fields the error has of its own */
	const struct h2d_handler *handler; /* NULL: answered without one */
	void *handler_state;
	struct list belongings; /* struct belonging, all that the handler has begun */

	struct pace *pace; /* the content goes at a rate; NULL: as fast as it can */
	struct trace_step *trace, *trace_last; /* request/trace.h; NULL: nothing is traced */

	struct req_record record; /* of its way, for the access log and the metrics */
	struct route_match match; /* from here on not cleared by req_init() */
	struct reply reply;
	char id_text[2 * REQ_ID_BYTES + 1];
	char first[REQ_ARENA_FIRST]; /* the arena's first memory */
};

/* Begins a request in zero-or-reused memory; the protocol embeds it. */
void req_init(struct h2d_req *req, struct http_env *env, const struct http_conn *conn,
	const struct stream_ops *stream);

/* The only writer of req->state: asserts the predecessor, counts. */
void req_go(struct h2d_req *req, enum req_state state);

/* The header section is complete: finds the route, calls the handler. A reply may follow at once.
 */
void req_start(struct h2d_req *req);

/*
 * The request is malformed, or does not come to its end: no handler gets it, and the handler that
 * has it already is told that it is gone. Answers with status unless a reply was given; one that
 * the handler makes of the body that comes (duplex) is cut off. Before or after req_start().
 */
void req_refuse(struct h2d_req *req, int status);

/* A piece of request body; its end is req_body_end(). */
void req_body(struct h2d_req *req, const void *data, size_t n);

/* Takes back a reply that was given and not sent, so that the request can be refused. */
void req_retract(struct h2d_req *req);

/* For sources: bytes may be ready again. */
void req_resume(struct h2d_req *req);

/* The protocol has put the last byte of the reply into its output. */
void req_sent_all(struct h2d_req *req);

/* The stream is over, in whatever way: handler's gone, access log, source closed, arena freed. */
void req_fini(struct h2d_req *req);

#endif
