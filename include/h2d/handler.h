/*
 * h2d/handler.h: all that a request handler sees of the server.
 *
 * A handler is a const struct of callbacks named h2d_handler_NAME; a route is one row of a
 * routes.def that says NAME. All calls happen on the worker's event loop: a handler must never
 * block, and leaves what does to h2d_work(). It does not know, and cannot ask, which protocol
 * version carries its request.
 *
 * Life of a request: start() once, when the header section is complete; body() for each piece of
 * the request body, then end(), if the route takes one and no reply was given yet; gone() exactly
 * once after start(), however the request ends: answered, refused for a malformed body, reset by
 * the client, timed out, or cut off by a shutdown.
 *
 * A handler that does not say what its reply is for longer than timeouts.handler of the
 * configuration (60 seconds), while nothing but that is waited for, gets gone(): the answer is 503.
 *
 * A handler gives one reply: it calls one h2d_reply_*() other than h2d_reply_field() once, from
 * start(), body() or end(), or from the loop at any time before gone(). The server's own answer to
 * a request it refuses comes behind gone(). A second reply, one from gone(), a field behind the
 * reply, a status that is none, more credit than was there, a length that wrapped (more than
 * PTRDIFF_MAX), or a call in another thread than the loop's is a mistake of the handler and ends
 * the worker, whatever has become of the reply meanwhile; the log says handler, mistake and
 * request: "handler kv replied twice to GET /kv/x".
 *
 * Memory: req is the server's and valid from start() until gone() returns. So is what the h2d_req_*
 * calls return, and state, the handler's own per-request memory (state_size bytes, zeroed). None of
 * it is freed by the handler. Strings that carry a length (in bytes, in *len, which may be NULL)
 * need not end in NUL, unless the call says so. A server that was configured with
 * --enable-sanitizers finds who touches any of it too late, or behind its end.
 */
#ifndef H2D_HANDLER_H
#define H2D_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of this header: one more with each release that adds to it. What a version has, later
 * ones have as it was; what is newer, a handler asks for by #if H2D_API >= 2.
 */
#define H2D_API 1

struct h2d_req;
struct h2d_worker;

/* Methods a route can name (RFC 9110, 9.3; PATCH: RFC 5789). A route for GET answers HEAD too. */
enum h2d_method {
	H2D_GET,
	H2D_HEAD,
	H2D_POST,
	H2D_PUT,
	H2D_DELETE,
	H2D_OPTIONS,
	H2D_PATCH,
	H2D_METHODS, /* how many */
	H2D_METHOD_UNKNOWN = H2D_METHODS,
};

/* Request bodies that a route takes. */
enum h2d_body {
	H2D_BODY_NONE,   /* none: a body that comes all the same is dropped */
	H2D_BODY_STREAM, /* body() gets it in pieces as they arrive */
};

/* Listeners that a handler answers on; elsewhere its routes do not exist. */
enum h2d_scope {
	H2D_ON_PUBLIC,  /* ordinary listeners */
	H2D_ON_UPLOADS, /* of them, those of a site that has an upload-dir */
	H2D_ON_ADMIN,   /* admin listeners */
	H2D_ON_ANY,     /* ordinary and admin listeners */
	H2D_ON_FOLDERS, /* of ordinary ones, those of a site whose uploads may lie in sub-folders */
};

struct h2d_handler {
	const char *name;  /* as in routes.def */
	size_t state_size; /* bytes of per-request state, aligned for any type; 0: none, and NULL */
	enum h2d_scope scope;
	/* The only one that is required; the others may be NULL. */
	void (*start)(struct h2d_req *req, void *state);
	/*
	 * len bytes of the request body, at least one. data is the server's and lives for the call;
	 * its credit is given back with h2d_consume(), now or later. Where there is an end() and no
	 * body(), the server drops the bytes and gives their credit back.
	 */
	void (*body)(struct h2d_req *req, void *state, const char *data, size_t len);
	/* The request body is complete. Not called for one that is cut off or malformed. */
	void (*end)(struct h2d_req *req, void *state);
	/* The last call. No h2d_reply_*() any more. */
	void (*gone)(struct h2d_req *req, void *state);
	/*
	 * Called once in each worker process that has a route to the handler, on its loop and
	 * inside its sandbox, before the first request; it may block. *context, NULL at first, is
	 * what h2d_worker_context() returns. 0, or -1: the worker cannot serve, and the start or
	 * the reload fails.
	 */
	int (*worker_init)(struct h2d_worker *worker, void **context);
	/* Called once behind the last request and the last done(), if worker_init() was there and
	 * returned 0, or was NULL. A worker that is killed comes to no such call. */
	void (*worker_exit)(void *context);
};

/*
 * Begins the definition of the handler NAME in C++, where a constant is its file's own otherwise:
 * H2D_HANDLER(hello) = { .name = "hello", .start = start };
 */
#ifdef __cplusplus
#define H2D_HANDLER(name) \
	extern "C" const struct h2d_handler h2d_handler_##name; \
	const struct h2d_handler h2d_handler_##name
#endif

/* --- the request ------------------------------------------------------------------------------ */

/* Never H2D_METHOD_UNKNOWN: such requests are answered before a handler sees them. */
enum h2d_method h2d_req_method(const struct h2d_req *req);

/* The path of the target, percent-decoded and with dot segments removed; begins with "/"; ends in
 * NUL. */
const char *h2d_req_path(const struct h2d_req *req, size_t *len);

/* The query behind "?", not decoded; len 0 if there is none. */
const char *h2d_req_query(const struct h2d_req *req, size_t *len);

/*
 * The first parameter of that name in the query, "?name=value&name=value", decoded as browsers
 * encode forms ("+" is a space); it may have a NUL inside. A name without "=" has an empty value.
 * name and what is returned end in NUL. NULL if there is none, or the request's memory is spent.
 */
const char *h2d_req_query_param(struct h2d_req *req, const char *name, size_t *len);

/* How many parameters the query has; and the i-th of them, from the left, its name, decoded, in
 * *name (ends in NUL; may be NULL). NULL if there is no i-th. */
unsigned h2d_req_query_params(struct h2d_req *req);
const char *h2d_req_query_param_at(struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* :authority, or Host (RFC 9110, 7.2), as it came, well-formed; len 0 if there is none. */
const char *h2d_req_authority(const struct h2d_req *req, size_t *len);

/* The value of {name} in the route's pattern, decoded, a part of the path (no NUL behind it); NULL
 * if the pattern has no such parameter. name ends in NUL. */
const char *h2d_req_param(const struct h2d_req *req, const char *name, size_t *len);

/* The first request field of that name (lower case, ends in NUL); NULL if absent. Of "cookie" there
 * is one, whatever it came in. */
const char *h2d_req_field(struct h2d_req *req, const char *name, size_t *len);

/* The i-th request field of that name, 0 being the first; NULL if there is no i-th. */
const char *h2d_req_field_at(struct h2d_req *req, const char *name, unsigned i, size_t *len);

/* How many request fields there are; 0 if the request's memory is spent. */
unsigned h2d_req_fields(struct h2d_req *req);

/* The i-th of all, in the order in which they came: its value, and in *name its name, lower case,
 * of *name_len bytes (either may be NULL). NULL if there is no i-th. */
const char *h2d_req_fields_at(
	struct h2d_req *req, unsigned i, const char **name, size_t *name_len, size_t *len);

/* The value of the first cookie of that name (ends in NUL, compared byte for byte), as it came:
 * quotation marks are part of it. NULL if there is none. */
const char *h2d_req_cookie(struct h2d_req *req, const char *name, size_t *len);

/* "https" or "http": how the client came, to h2d or to a trusted proxy. Ends in NUL; static. */
const char *h2d_req_scheme(const struct h2d_req *req);

/* "TLSv1.3", "TLSv1.2": of the connection, which may be a proxy's; NULL in cleartext. Ends in NUL;
 * static. */
const char *h2d_req_tls_version(const struct h2d_req *req);

/* How many parameters the route's pattern has, a final "*" included. */
unsigned h2d_req_params(const struct h2d_req *req);

/*
 * The i-th of them (0 up to h2d_req_params() - 1), from the left: its value as h2d_req_param()
 * gives it, and its name in *name (ends in NUL, static; "*" for what a final "*" took). name may be
 * NULL. NULL if there is no i-th.
 */
const char *h2d_req_param_at(const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/*
 * Bytes of request body that are to come in all: what content-length says (RFC 9110, 8.6), 0
 * without a body, -1 if the client has not said. A body that differs from it never comes to end().
 */
int64_t h2d_req_length(const struct h2d_req *req);

/*
 * The client's address without its port: "192.0.2.1", "2001:db8::1", or "unix" for a unix socket.
 * It is what a trusted proxy says (trusted-proxies), and "unknown" if that proxy hides it. Ends in
 * NUL and lives as long as the request; NULL when the request's memory is spent.
 */
const char *h2d_req_peer(struct h2d_req *req, size_t *len);

/* The name of the user whose password was right (auth-basic-file), as it came: any bytes; NULL and
 * len 0 if nobody was asked for one. */
const char *h2d_req_user(const struct h2d_req *req, size_t *len);

/*
 * A name of this request that no other has, for logs and for other servers: what a trusted proxy
 * calls it in its field x-request-id, else 32 hexadecimal digits. With request-id = true the access
 * log has it, too, and the answer. NULL if there are no random bytes.
 */
const char *h2d_req_id(struct h2d_req *req, size_t *len);

/* n bytes of memory that lives as long as the request, not zeroed, aligned for any type; NULL when
 * its budget (about 4 MiB for everything a request needs) is spent. */
void *h2d_req_alloc(struct h2d_req *req, size_t n);

/* --- the reply -------------------------------------------------------------------------------- */

/*
 * Adds a response field; name in lower case, both end in NUL and are copied. Before the reply call.
 * date, server and content-type take the place of what the response would say else. 0, or -1 when
 * the request's memory is spent, there are more than 45 fields, the field is malformed (RFC 9110,
 * 5.5), or it is the server's to say how the message comes: connection, content-length, keep-alive,
 * proxy-connection, te, trailer, transfer-encoding, upgrade. The response is then as it was.
 */
int h2d_reply_field(struct h2d_req *req, const char *name, const char *value);

/* A field; both end in NUL. */
struct h2d_field {
	const char *name, *value;
};

/*
 * Sends an interim response (RFC 9110, 15.2) with n fields (up to 16, copied, none of them the
 * server's to say) in front of the reply, and nothing of the reply's own: 103, by which a browser
 * loads what field link names while the reply is made (RFC 8297), or 102, a sign of life. status:
 * 102–199. 0, also where the client speaks HTTP/1.0, which has no such thing, and gets none; or -1
 * when a field is malformed or there are too many, or all of them in this request come to more than
 * 64000 bytes: nothing is sent then. Some clients of HTTP/1.1 take it for the reply: ask whether
 * this one wants it (browsers say sec-fetch-mode: navigate).
 */
int h2d_reply_interim(struct h2d_req *req, int status, const struct h2d_field *fields, unsigned n);

/*
 * Answers with status (200–599), a content type (NULL for none) and len bytes of data (NULL only
 * with len 0); type and data are copied. HEAD, 204 and 304 send no content. Never fails: without
 * memory it becomes a 503, with a type that is no field value (a line end in it would split the
 * response) a 500, and the log says so.
 */
void h2d_reply_bytes(
	struct h2d_req *req, int status, const char *type, const void *data, size_t len);

/* Answers OPTIONS (RFC 9110, 9.3.7) as the server does for a route that has no row for it: with the
 * methods of the path. */
void h2d_reply_options(struct h2d_req *req);

/* Answers with the site's error page for status (400–599), or a small one of h2d's own. */
void h2d_reply_error(struct h2d_req *req, int status);

/* Where a file's name starts from. */
enum h2d_tree {
	H2D_DOCUMENT_ROOT,
	H2D_UPLOAD_DIR, /* 404 for everything if the configuration names none */
};

/*
 * Answers with the file path names below tree, "/" first, len decoded bytes, which are copied.
 * Conditions, ranges, codings, HEAD, index files, redirects from "/dir" to "/dir/", types, 404 and
 * 403 are handled here, from the cache image or the disk.
 */
void h2d_reply_file(struct h2d_req *req, enum h2d_tree tree, const char *path, size_t len);

/* Answers of a fill beside a number of bytes. */
enum { H2D_LATER = -1, H2D_FAIL = -2 };

/*
 * Writes up to cap bytes (at least one) of content into buf, which is the server's. Returns how
 * many it wrote, 0 at the end, H2D_LATER when there is nothing yet (then h2d_resume() once there
 * is), or H2D_FAIL to cut the response off. Called whenever the client can take more, never after
 * gone().
 */
typedef ssize_t h2d_fill(struct h2d_req *req, void *state, char *buf, size_t cap);

/* Answers with status (200–599), a content type (NULL for none; copied) and what fill writes.
 * Without memory it becomes a 503. */
void h2d_reply_stream(struct h2d_req *req, int status, const char *type, h2d_fill *fill);

/*
 * As h2d_reply_stream(), where it is known that content has length bytes: the client is told so. A
 * fill that ends before, or has more, is a mistake: the log says so, and the response is cut off,
 * so that nobody takes it for whole. To find out, fill is asked once more when it has written them.
 */
void h2d_reply_stream_sized(
	struct h2d_req *req, int status, const char *type, uint64_t length, h2d_fill *fill);

/*
 * Adds a field behind the content (RFC 9110, 6.5), a checksum say, which is not known before: from
 * fill, up to the call that answers 0, or at any time between h2d_reply_stream() and that. As for
 * h2d_reply_field(), but up to 32 fields of 32000 bytes together; 0, or -1: also where the reply is
 * no stream, is one that is sized, or is at its end. A client may drop them unless its field te
 * says trailers; one of HTTP/1.0 does not get them, nor does HEAD.
 */
int h2d_reply_trailer(struct h2d_req *req, const char *name, const char *value);

/* A fill that answered H2D_LATER has bytes now. Harmless at any other time before gone(). */
void h2d_resume(struct h2d_req *req);

/* --- the request body ------------------------------------------------------------------------- */

/* Gives back credit for n bytes of request body (1 up to what body() was given and has no credit
 * yet): this is what opens the flow-control window. Without credit the client sends no more than
 * its window, so a handler that gives it back as it has used the bytes needs no more than this. */
void h2d_consume(struct h2d_req *req, size_t n);

/*
 * From now on neither body() nor end() is called, until h2d_body_resume(). Pieces that come
 * meanwhile wait in the server, without credit: the client's window bounds them. For a handler that
 * has to wait for something else before it can take the next piece. Paused twice is paused once;
 * the reply ends it.
 */
void h2d_body_pause(struct h2d_req *req);

/* Pieces that waited, and further ones, are handed on again: from the loop, never from inside this
 * call. Harmless if the body is not paused. */
void h2d_body_resume(struct h2d_req *req);

/*
 * The first field of that name behind the request's body (RFC 9110, 6.5), as it came, and the i-th
 * of all with its name: from end() on, for a handler that takes the body. They are not among the
 * request fields, and say nothing that those should. Names and values end in NUL; NULL if there is
 * none.
 */
const char *h2d_req_trailer(const struct h2d_req *req, const char *name, size_t *len);
const char *h2d_req_trailers_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* Bytes of the largest form that h2d_form_read() takes. */
enum { H2D_FORM_MAX = 1 << 20 };

/*
 * The outcome of h2d_form_read(): status 200, and the parameters are there; 413 (over max, or too
 * many of them), 415 (no such form) or 503 (memory is spent), and none is. Called once on the loop,
 * perhaps before that call returns, and not at all if the request is gone or was answered by the
 * server meanwhile. Any call may follow: a reply, or h2d_work() and the reply later.
 */
typedef void h2d_form_fn(struct h2d_req *req, void *state, int status);

/*
 * Takes the request's body from here on, instead of the handler's body() and end(): a form of
 * application/x-www-form-urlencoded, as browsers send it by POST, of up to max bytes (at most
 * H2D_FORM_MAX). A request without a body is a form without parameters. From start(), for a route
 * that streams its body.
 */
void h2d_form_read(struct h2d_req *req, size_t max, h2d_form_fn *done);

/* Parameters of a form that was read, decoded, as h2d_req_query_param() and its like have those of
 * the query; they live as long as the request. */
const char *h2d_form_param(const struct h2d_req *req, const char *name, size_t *len);
unsigned h2d_form_params(const struct h2d_req *req);
const char *h2d_form_param_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* --- time ------------------------------------------------------------------------------------- */

struct h2d_timer;

/* A timer calls it, on the loop; never after gone(). Any call may follow, a reply too. */
typedef void h2d_timer_fn(struct h2d_req *req, void *state);

/*
 * A timer of this request, not set yet. It is the server's, lives as long as the request, and is
 * stopped behind gone(); nobody frees it. NULL when the request's memory is spent. One that is set
 * again and again costs no more than one that is set once.
 */
struct h2d_timer *h2d_timer_new(struct h2d_req *req, h2d_timer_fn *fn);

/*
 * Calls fn once, ms milliseconds from now (0: soon) or a little later, never earlier. A timer that
 * was set already is moved. fn may set it again.
 */
void h2d_timer_set(struct h2d_timer *timer, uint64_t ms);

/* Not any more. Harmless if it is not set. */
void h2d_timer_stop(struct h2d_timer *timer);

/* --- the worker ------------------------------------------------------------------------------- */

/* The worker as the handler of req sees it: valid from worker_init() until worker_exit() returned.
 * Each handler has its own. */
struct h2d_worker *h2d_req_worker(const struct h2d_req *req);

/* The handler's own memory in this worker, as worker_init() has set it. */
void *h2d_worker_context(const struct h2d_worker *worker);

/* A timer of no request: it calls fn(NULL, context). It is the server's, and lives until
 * worker_exit() returned. NULL when memory is out. */
struct h2d_timer *h2d_worker_timer_new(struct h2d_worker *worker, h2d_timer_fn *fn);

/* Changes of a descriptor, as bits. */
enum h2d_change {
	H2D_READABLE = 1, /* there is something to read, or the end */
	H2D_WRITABLE = 2,
	H2D_HANGUP = 4, /* an error, or the other side has closed its end */
};

/* On the loop, for each change: read or write until EAGAIN, for there is no second call for the
 * same bytes (EPOLLET, epoll(7)). The first call tells what holds already. */
typedef void h2d_watch_fn(void *arg, unsigned changes);

struct h2d_watch;

/*
 * Watches fd, which stays the handler's: it must not block, and is closed behind h2d_watch_free().
 * NULL when memory is out or fd cannot be watched (epoll_ctl(2)). A watch that serves one request
 * ends in its gone().
 */
struct h2d_watch *h2d_watch_new(struct h2d_worker *worker, int fd, h2d_watch_fn *fn, void *arg);

/* No call of its fn any more, from now on. watch may be NULL. */
void h2d_watch_free(struct h2d_watch *watch);

/* --- work that blocks ------------------------------------------------------------------------- */

/*
 * In a thread: may block, in system calls or by computing. Calls nothing of this header and touches
 * neither the request nor the handler's state, which may end at any time; job is all it has. Its
 * stack has 256 KiB, and signals do not come to it.
 */
typedef void h2d_work_run(void *job);

/*
 * On the loop, once run() has returned. Any call may follow, a reply too. req and state are NULL if
 * the request is gone: then all that is left to do is to free what job has.
 */
typedef void h2d_work_done(struct h2d_req *req, void *state, void *job);

/*
 * Has a thread call run(job), then the loop done(req, state, job). Where 0 is returned, done() is
 * called exactly once, always from the loop and never from inside this call; if the request ends
 * first, it comes behind gone(), and run() is left out if no thread had begun with it. -1 when
 * memory or threads are out: neither is called.
 *
 * job is the handler's, of malloc(3) or static: it must live until done(), which frees it; memory
 * of the request (h2d_req_alloc(), state) does not live long enough. Between this call and done()
 * it belongs to run() alone.
 *
 * Each worker has a few threads (eight) for the work of all handlers; what is beyond them waits in
 * line, in which connections take turns. They are not those that open and read files. A worker that
 * leaves waits for what runs; the master ends it two seconds after shutdown-timeout.
 */
int h2d_work(struct h2d_req *req, h2d_work_run *run, h2d_work_done *done, void *job);

/* --- other threads ---------------------------------------------------------------------------- */

struct h2d_waker;

/* On the loop, once for all wakes since the last call. Any call may follow, a reply too. */
typedef void h2d_wake_fn(struct h2d_req *req, void *state);

/*
 * A waker of this request, for threads of the handler's own (a client library's, say): they must
 * not touch the request, which may end at any time, but may wake it. It lives until
 * h2d_waker_free(), which the handler owes it, also behind gone(). NULL when memory or descriptors
 * are out.
 */
struct h2d_waker *h2d_waker_new(struct h2d_req *req, h2d_wake_fn *fn);

/* From any thread: has the loop call fn(req, state) soon. Nothing, if the request is gone. */
void h2d_wake(struct h2d_waker *waker);

/* From any thread: the handler has done with it. A wake that is under way comes. waker may be NULL.
 */
void h2d_waker_free(struct h2d_waker *waker);

/* --- messages --------------------------------------------------------------------------------- */

/*
 * On the loop: a message of the topic; data lives for the call. Any call may follow, a reply too.
 * data NULL: this worker was too slow, and messages are lost, of this topic or of others.
 */
typedef void h2d_message_fn(struct h2d_req *req, void *state, const char *data, size_t len);

/*
 * Has fn called for each message of topic (up to 255 bytes, ends in NUL, copied), from now on until
 * the request ends. 0, or -1 when memory, descriptors or threads are out, or topic is too long.
 */
int h2d_subscribe(struct h2d_req *req, const char *topic, h2d_message_fn *fn);

/*
 * Sends len bytes of data (up to 65536) to whoever has subscribed to topic, in any worker of the
 * server, also of generations that drain after a reload, and in this one. All hear messages in one
 * order. An upgrade begins anew: the workers of before hear each other. 0, or -1: data or topic is
 * too long, or a worker that stands still keeps the others from sending.
 */
int h2d_publish(struct h2d_worker *worker, const char *topic, const void *data, size_t len);

/* --- storing files ---------------------------------------------------------------------------- */

/* A file in the site's upload-dir. */
struct h2d_stored {
	const char *name; /* ends in NUL */
	const char *path; /* where it can be asked for, percent-encoded: for a location field */
	uint64_t size;
	const char *etag; /* as GET will say it, with its quotes; NULL where repr_digest is */
	/* The digest of its content, for a field of that name (RFC 9530); NULL: the file is longer
	 * than cache.max-file-size, and the request has neither a digest nor want-repr-digest. */
	const char *repr_digest;
	bool created; /* nothing had that name before */
};

/*
 * The outcome of an upload; called once in the loop, perhaps before the call that it belongs to
 * returns, and not at all if the request went away or was answered by the server meanwhile (401,
 * 413). It gives the reply. status: what to answer with; below 400 the n files are in place, on the
 * disk and what every worker answers with; else none is. files and what they point to live for the
 * call.
 */
typedef void h2d_stored_fn(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n);

/*
 * Takes the request's body from here on, instead of the handler's body() and end(), and stores it
 * as the file of that name (decoded, len bytes, copied) in upload-dir, or in a folder below it,
 * "a/b/name", as deep as the configuration says; whole or not at all. From
 * start(), for a route that streams its body. The configuration says who may write, how much, and
 * whether a file may be replaced; conditions (RFC 9110, 13) and digests (RFC 9530) of the request
 * are heeded.
 */
void h2d_store(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);

/* Stores a body of multipart/form-data (RFC 7578): each part with a file name becomes a file, all
 * of them or none. */
void h2d_store_form(struct h2d_req *req, h2d_stored_fn *done);

/* h2d_store_form() in the folder "a/b" below upload-dir, len bytes, as deep as may be. */
void h2d_store_form_in(struct h2d_req *req, const char *folder, size_t len, h2d_stored_fn *done);

/*
 * Answers a form of a person, from the done() of h2d_store_form(): where the client would rather
 * have text/html than application/json, it is sent (303) to the listing of the folder, or, where
 * that has none, shown with that status what was stored. False: it would rather have something
 * else, and has no answer yet.
 */
bool h2d_store_show(struct h2d_req *req, int status, const struct h2d_stored *files, size_t n);

/*
 * Resumable uploads (draft-ietf-httpbis-resumable-upload-12). h2d_store_resumable() is h2d_store()
 * but that the client may ask, by its field upload-complete, for an upload that survives its
 * connection, and the server. Such an upload is a resource of its own: its path is that of the
 * request, H2D_UPLOAD_PATH and a name that cannot be guessed. So a route that calls it needs
 * another one for HEAD, PATCH (which streams its body) and DELETE: its pattern, H2D_UPLOAD_PATH and
 * {upload}. The handler of that one calls h2d_store_resume() with the same file name and upload.
 *
 * done() of either may get a status below 400 and no files: then the request is done, and the file
 * not complete; the fields of the response are there.
 */
#define H2D_UPLOAD_PATH "/.upload/"
void h2d_store_resumable(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);
void h2d_store_resume(struct h2d_req *req, const char *name, size_t len, const char *upload,
	size_t upload_len, h2d_stored_fn *done);

/* Adds the fields by which an answer to OPTIONS says that uploads can be resumed, where they can.
 */
void h2d_store_offer(struct h2d_req *req);

/* Removes the file of that name, by the same rules. done() gets no files. */
void h2d_store_remove(struct h2d_req *req, const char *name, size_t len, h2d_stored_fn *done);

/* --- the server ------------------------------------------------------------------------------- */

/* True once this worker is shutting down and only finishes what it has. */
bool h2d_draining(const struct h2d_req *req);

#ifdef __cplusplus
}
#endif

#endif
