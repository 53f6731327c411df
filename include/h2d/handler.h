/*
 * h2d/handler.h: the interface between h2d and a request handler. It includes the other headers of
 * the interface.
 *
 * A handler is a constant struct of callbacks named h2d_handler_NAME. A route, one row of a
 * routes.def, names it. All calls run on the worker's event loop, so a handler must not block: it
 * passes blocking work to h2d_work(). A handler does not see which HTTP version a request uses.
 *
 * Life of a request: start() is called once, when the request's headers are complete. If the route
 * takes a body, and there is no reply yet, body() is called for each piece, then end(). (A duplex
 * handler gets the body during its reply, too.) gone() is called exactly once after start(),
 * however the request ends: answered, refused for a malformed body, reset by the client, timed out,
 * or cut off by a shutdown.
 *
 * If a handler does not reply within timeouts.handler (60 seconds), while h2d waits for nothing
 * else, h2d calls gone() and answers 503. If a call blocks the loop, and with it all clients of the
 * worker, for over 100 milliseconds, the log names it: "handler kv blocked the loop for 340 ms:
 * GET /kv/x".
 *
 * A handler gives one reply: it calls one h2d_reply_*() other than h2d_reply_header() once, from
 * start(), body() or end(), or from the loop at any time before gone(). If h2d refuses a request,
 * it sends its own answer after gone(). A second reply, a reply from gone(), and a header or an
 * interim response after the reply are logged and ignored (a server with --enable-sanitizers ends
 * the worker). Other mistakes always end the worker: an invalid status, more credit than there was,
 * a length above PTRDIFF_MAX, a call in another thread than the loop's. The log names handler,
 * mistake and request: "handler kv replied twice to GET /kv/x".
 *
 * Memory: req belongs to h2d and is valid from start() until gone() returns, and so are strings
 * that h2d_req_*() returns, and state, the handler's memory for the request (state_size bytes,
 * zeroed). A handler frees none of them. A server that was configured with --enable-sanitizers
 * reports each access after that time, or beyond the end.
 *
 * Strings: each string that h2d passes or returns ends in NUL, also if it has a length. A length
 * (*len, which may be NULL) counts bytes, without that NUL. A string that a handler passes ends in
 * NUL, unless a length follows it. Pieces of a body and messages are data: they have no NUL.
 *
 * Sandbox: handlers, worker_init() and threads of h2d_work() run in the worker's sandbox. They may
 * open files below the document roots, and below each upload-dir for writing, and little else. The
 * section sandbox of the configuration allows more:
 * - open(2) and similar calls fail with EACCES, whatever the modes are. Allow directories that
 *   exist when the worker starts, with all below them: read = { "/etc/kv" }, write = {
 *   "/var/lib/kv" }. (SQLite creates files beside its own: name the directory.) /dev/urandom,
 *   /dev/random and /dev/null may be read.
 * - socket(2), connect(2), bind(2) and getaddrinfo(3) fail with EPERM, EACCES or ENOSYS. Allow them
 *   with network = true, which also allows to read the certificates of /etc/ssl/certs.
 * - other system calls fail with ENOSYS or EPERM. Allow one with syscalls = { "NAME" }. With
 *   seccomp = log none fails, and the kernel's log names it.
 * - fork(2) and execve(2) cannot be allowed.
 */
#ifndef H2D_HANDLER_H
#define H2D_HANDLER_H

#include "h2d/log.h"
#include "h2d/metrics.h"
#include "h2d/reply.h"
#include "h2d/request.h"
#include "h2d/store.h"
#include "h2d/websocket.h"
#include "h2d/worker.h"
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of this interface. Each release that adds to it increments the version. Later
 * versions keep all of it unchanged. Test for additions with #if H2D_API >= 2.
 */
#define H2D_API 1

/* Request bodies that a route takes. */
enum h2d_body {
	H2D_BODY_NONE,   /* none: h2d drops a body */
	H2D_BODY_STREAM, /* body() gets it in pieces as they arrive */
};

/* The listeners on which a handler's routes exist. */
enum h2d_scope {
	H2D_ON_PUBLIC, /* ordinary listeners */
	H2D_ON_ADMIN,  /* admin listeners */
	H2D_ON_ANY,    /* ordinary and admin listeners */
};

struct h2d_handler {
	const char *name;  /* as in routes.def */
	size_t state_size; /* bytes of state per request, aligned for any type; 0: state is NULL */
	enum h2d_scope scope;
	/*
	 * body() and end() are called during h2d_reply_stream() and h2d_reply_stream_sized(), too,
	 * until fill returns 0 or H2D_FAIL. Any other reply ends the body. Credit and pauses slow
	 * the client's sending, H2D_LATER the response. The response is cut off if the body is
	 * incomplete or too large, or if a client that has not sent all of it neither sends nor
	 * reads anything for timeouts.body.
	 */
	bool duplex;
	/* Required. Each of the others may be NULL. */
	void (*start)(struct h2d_req *req, void *state);
	/*
	 * len bytes of the request body, at least one. data is valid during the call. The handler
	 * gives its credit back with h2d_consume(), now or later. Without body(), h2d drops the
	 * bytes and gives their credit back, unless the body is paused or stored.
	 */
	void (*body)(struct h2d_req *req, void *state, const char *data, size_t len);
	/* The request body is complete. Not called for a body that is cut off or malformed. */
	void (*end)(struct h2d_req *req, void *state);
	/* The last call. It must not reply. */
	void (*gone)(struct h2d_req *req, void *state);
	/*
	 * Called once in each worker process that has a route to the handler, in its sandbox,
	 * before the first request. It may block. h2d_worker_context() returns the *context that it
	 * sets (initially NULL). Returns 0, or -1 if the worker cannot serve: then the start or the
	 * reload fails.
	 */
	int (*worker_init)(struct h2d_worker *worker, void **context);
	/* Called once after the last request and the last done(), unless worker_init() failed. Not
	 * called if the worker is killed. */
	void (*worker_exit)(void *context);
	/* The name whose keys (section handler "NAME" of the configuration) and metrics
	 * (metrics.def) the handler uses; NULL: its own. */
	const char *section;
	/* Its routes for GET take WebSockets, too (h2d/websocket.h); NULL: they do not. */
	const struct h2d_websocket *websocket;
};

/*
 * Begins the definition of a handler in C++, where constants are local to their file by default:
 * H2D_HANDLER(hello) = { .name = "hello", .start = start };
 * Set members in their order, which does not change: C++ requires it.
 */
#ifdef __cplusplus
#define H2D_HANDLER(name) \
	extern "C" const struct h2d_handler h2d_handler_##name; \
	const struct h2d_handler h2d_handler_##name
#endif

#ifdef __cplusplus
}
#endif

#endif
