/*
 * h2d/handler.h: all that a request handler sees of the server, which is in this header
 * and those that it includes.
 *
 * A handler is a const struct of callbacks named h2d_handler_NAME; a route is one row of a
 * routes.def that says NAME. All calls happen on the worker's event loop: a handler must never
 * block, and leaves what does to h2d_work(). It does not know, and cannot ask, which protocol
 * version carries its request.
 *
 * Life of a request: start() once, when the header section is complete; body() for each piece of
 * the request body, then end(), if the route takes one and no reply was given yet (duplex: also
 * while it is streamed); gone() exactly once after start(), however the request ends: answered,
 * refused for a malformed body, reset by the client, timed out, or cut off by a shutdown.
 *
 * A handler that does not say what its reply is for longer than timeouts.handler of the
 * configuration (60 seconds), while nothing but that is waited for, gets gone(): the answer is 503.
 * One whose call holds the loop up for over 100 milliseconds, while all other clients of the worker
 * wait, is named in the log: "handler kv held the loop up for 340 ms, at GET /kv/x".
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
 * it is freed by the handler. Each string ends in NUL, also one that carries a length (in bytes, in
 * *len, which may be NULL); pieces of a body and messages are data, and do not. A server that was
 * configured with --enable-sanitizers finds who touches any of it too late, or behind its end.
 *
 * Sandbox: handlers, worker_init() and threads of h2d_work() run inside the worker's, so a program
 * may open what lies below the document roots, and below each upload-dir for writing, and next to
 * nothing else. What is beyond that, section sandbox of the configuration has to allow:
 * - open(2) and its like: EACCES, else than by modes. read = { "/etc/kv" }, write = { "/var/lib/kv"
 *   }; a folder that is there when the worker starts, with all below it (SQLite makes files beside
 *   its own: name the folder). /dev/urandom, /dev/random and /dev/null may be read.
 * - socket(2), connect(2), bind(2), getaddrinfo(3): EPERM, EACCES or ENOSYS. network = true, by
 *   which the certificates of /etc/ssl/certs may be read, too.
 * - another system call: ENOSYS, or EPERM. syscalls = { "NAME" }; with seccomp = log none is
 *   refused, and the kernel's log names it.
 * fork(2) and execve(2) are for nobody.
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
 * The version of these headers: one more with each release that adds to it. What a version has,
 * later ones have as it was; what is newer, a handler asks for by #if H2D_API >= 2.
 */
#define H2D_API 1

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
	/*
	 * The request's body goes on to body() and end() while h2d_reply_stream() or
	 * h2d_reply_stream_sized() answers, until fill has said its end, or failed; any other reply
	 * ends it. Credit and pauses hold the client back on one side, H2D_LATER on the other. A
	 * body that does not come whole, or is too large, cuts the response off, and so does a
	 * client that owes it and neither sends nor takes anything for timeouts.body.
	 */
	bool duplex;
	/* The only one that is required; the others may be NULL. */
	void (*start)(struct h2d_req *req, void *state);
	/*
	 * len bytes of the request body, at least one. data is the server's and lives for the call;
	 * its credit is given back with h2d_consume(), now or later. Without a body() the server
	 * drops the bytes and gives their credit back, unless the body is paused or stored.
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
	/* Its keys are those of the section handler "SECTION" of the configuration, its metrics
	 * those of SECTION in metrics.def; NULL: of its own name. */
	const char *section;
	/* Its routes for GET take WebSockets, too (h2d/websocket.h). NULL: they do not. */
	const struct h2d_websocket *websocket;
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

#ifdef __cplusplus
}
#endif

#endif
