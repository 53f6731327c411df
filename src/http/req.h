/*
 * req: one request from its first field to its access log line, the same for every protocol. The
 * protocol's stream embeds it, fills in the head, calls req_start(), feeds body pieces, and sends what
 * the reply holds; handlers see it through h2d/handler.h only. Everything it points to lives in its
 * arena or is borrowed for its life.
 */
#ifndef H2D_HTTP_REQ_H
#define H2D_HTTP_REQ_H

#include <stdbool.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "http/body.h"
#include "http/field.h"
#include "http/route.h"
#include "http/site.h"

enum req_state {
#define REQ_STATE(name, next, help) REQ_##name,
#include "http/req_state.def"
	REQ_STATES
};

/*
 * The stream seam: from a request to its protocol. Called by http/ only. None of them calls back into
 * the request before it returns.
 */
struct stream_ops {
	/* req->reply is complete: send its head, then its body. */
	void (*reply)(struct h2d_req *req);
	/* The body source may have bytes again after it answered BODY_LATER. */
	void (*resume)(struct h2d_req *req);
	/*
	 * n bytes of request body are worked off: give the credit back to the peer. 0: from now on a handler
	 * waits for the body, which a peer may want to know (RFC 9110, 10.1.1).
	 */
	void (*consume)(struct h2d_req *req, size_t n);
};

struct http_conn;

/* What all requests of one connection share; the connection owns it. */
struct http_conn {
	struct slice peer;       /* "192.0.2.1", "2001:db8::1", "unix" */
	bool tls;
	bool admin;              /* the connection came in on an admin listener */
	bool redirect_to_https;  /* … on one that only sends to https */
	const void *certificate; /* which one TLS showed (struct site has the same); NULL: cleartext */
	/* Whether the certificate of this connection is good for host. NULL: it is good for all. */
	bool (*covers)(const struct http_conn *conn, struct slice host);
	void *owner;             /* for covers() */
};

struct http_env;
struct auth_desk; /* http/auth.h */
struct gate;      /* http/gate.c */

/* What all requests of one worker share; the worker owns it. */
struct http_env {
	const struct route_table *routes;
	const struct h2d_handler *fallback; /* answers what no route owns: the document root */
	struct slice date;       /* of the date field; the bytes change in place, once a second */
	time_t date_s;           /* the same, in seconds since 1970: up to a second behind the clock */
	struct slice server;     /* of the server field */
	size_t header_size;      /* client-header-size */
	bool draining;
	struct files *files;     /* of cache/files.h; NULL in tests that serve none */
	const struct sites *sites; /* never NULL; sites_plain in tests */
	uint16_t https_port;     /* where redirect_to_https sends to; 0: nowhere, 404 */
	struct auth_desk *auth_desk; /* checks passwords; may be NULL where no place has auth */
	/*
	 * Answers with status and a file of the site as content, without conditions or ranges; falls back to
	 * reply_own_page() if it is not there. NULL: no error pages. Set by the server to
	 * cache/answer's.
	 */
	void (*error_page)(struct h2d_req *req, int status, struct slice file);
	/* Makes the body of /status.json in a; p NULL if it cannot. */
	struct slice (*status)(struct http_env *env, struct arena *a);
	/* The request is gone: write its access log line. May be NULL. */
	void (*finished)(struct http_env *env, struct h2d_req *req);
	void *owner;
};

enum { REPLY_FIELDS_MAX = 48, REQ_ARENA_FIRST = 1024 };

struct reply {
	int status;
	struct field fields[REPLY_FIELDS_MAX]; /* date, server and content-length included */
	unsigned nfields;
	struct body body;        /* closed by req_fini(), so what it keeps alive outlives the head */
	bool ready;              /* the head is complete and was given to the protocol */
	bool content;            /* the body is sent: not for HEAD, 204 and 304 */
	char length[20];         /* digits of content-length */
};

struct h2d_req {
	struct arena arena;
	const struct stream_ops *stream;
	struct http_env *env;
	const struct http_conn *conn;
	enum req_state state;

	/* The head, as it came: filled in by the protocol before req_start(). */
	struct slice protocol;   /* "HTTP/2.0" as logs write it */
	struct slice method_text, scheme, authority, target;
	struct field *fields;    /* regular fields only */
	unsigned nfields, fields_cap;
	size_t head_size;        /* of names, values and 32 each (RFC 9113, 6.5.2) */
	bool head_too_large;     /* over client-header-size: answered with 431 */
	bool has_body;           /* the head did not end the stream */
	bool complete;           /* the whole reply was given to the connection */
	bool body_taken;         /* the handler gets the request body */

	/* Made by req_start(). */
	const struct site *site;   /* never NULL from then on */
	const struct place *place; /* never NULL from then on */
	enum h2d_method method;
	struct slice path, query;
	struct slice user;         /* whose credentials were right; n 0: nobody was asked, or they were wrong */
	struct gate *gate;         /* waits to be let in: body pieces are held. NULL: does not */
	int error_status;          /* an error page is being looked for, to answer this; 0: none is */
	unsigned error_fields;     /* how many fields the error has of its own */
	const struct h2d_handler *handler; /* NULL: answered without one */
	struct route_match match;
	void *handler_state;

	h2d_fill *fill;          /* of h2d_reply_stream() */
	char *fill_buf;
	size_t fill_off, fill_len;
	uint64_t sent;           /* content bytes given to the connection */
	uint64_t started_us;     /* clock_us() at the first field */
	struct reply reply;      /* from here on not cleared by req_init() */
	char first[REQ_ARENA_FIRST]; /* the arena's first memory */
};

/* Begins a request in zero-or-reused memory; the protocol embeds it. */
void req_init(struct h2d_req *req, struct http_env *env, const struct http_conn *conn,
	const struct stream_ops *stream);

/*
 * Adds a regular field. The bytes must live until req_fini(). Counts its size (also of those past the
 * limit, which are not kept). 0, or -1 when memory is out.
 */
int req_add_field(struct h2d_req *req, struct slice name, struct slice value);

/* The header section is complete: finds the route, calls the handler. A reply may follow at once. */
void req_start(struct h2d_req *req);

/*
 * The request is malformed, or does not come to its end: no handler gets it, and who has it already is
 * told that it is gone. Answers with status unless a reply was given. Before or after req_start().
 */
void req_refuse(struct h2d_req *req, int status);

/* A piece of request body, or its end. Pieces nobody takes are consumed at once. */
void req_body(struct h2d_req *req, const void *data, size_t n);
void req_end(struct h2d_req *req);

/* Answers with a small body for status unless a reply was given already. */
void req_error(struct h2d_req *req, int status);

/* For sources: bytes may be ready again. */
void req_resume(struct h2d_req *req);

/* The protocol has put the last byte of the reply into its output. */
void req_sent_all(struct h2d_req *req);

/* The stream is over, in whatever way: handler's gone, access log, source closed, arena freed. */
void req_fini(struct h2d_req *req);

/* The only writer of req->state: asserts the predecessor, counts. */
void req_go(struct h2d_req *req, enum req_state state);
const char *req_state_name(enum req_state state);

/* The gate let it in: finds the route, calls the handler. Called by gate.c only. */
void req_enter(struct h2d_req *req);

/* The internal side of a reply, for reply.c and the file replies of cache/. */

/* Adds a field by reference: bytes that live until the request is gone. -1 when there are too many. */
int reply_add(struct h2d_req *req, struct slice name, struct slice value);

/* "Not Found": what a status is called (RFC 9110, 15); "Error" if it is not known. */
const char *reply_reason(int status);

/*
 * Answers with h2d's own small page for status: what h2d_reply_error() sends where the site has no page
 * of its own, and what env->error_page() falls back to: then the error's own status and fields are back,
 * whatever has become of them since. Fields that describe content (content-type, etag) go.
 */
void reply_own_page(struct h2d_req *req, int status);

/*
 * Fields and reply.body are set: adds date, server, content-length (if known) and what the
 * configuration adds (http/site.h), and hands the reply to the protocol. The body of HEAD, 204 and 304 stays, unread, until the request is gone: what it
 * holds a reference on keeps the fields' bytes alive.
 */
void reply_send(struct h2d_req *req, int status);

#endif
