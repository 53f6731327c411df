/*
 * h2d/worker.h: the worker process of a handler: timers, descriptors, keys, threads, and messages
 * to handlers in all workers. Included by h2d/handler.h.
 */
#ifndef H2D_WORKER_H
#define H2D_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;
struct h2d_worker;

/* --- time ------------------------------------------------------------------------------------- */

struct h2d_timer;

/* Called by a timer on the loop, never after gone(). It may make any call, also reply. */
typedef void h2d_timer_fn(struct h2d_req *req, void *state);

/*
 * Makes a timer for this request, which is not set yet. It belongs to h2d, is valid as long as the
 * request, and is stopped after gone(). NULL if the request's memory is used up. A timer may be set
 * any number of times.
 */
struct h2d_timer *h2d_timer_new(struct h2d_req *req, h2d_timer_fn *fn);

/* Calls fn once, ms milliseconds from now (0: soon) or a little later, never earlier. Replaces the
 * time of a timer that is set. fn may set it again. */
void h2d_timer_set(struct h2d_timer *timer, uint64_t ms);

/* Stops the timer. Has no effect if it is not set. */
void h2d_timer_stop(struct h2d_timer *timer);

/* --- the worker ------------------------------------------------------------------------------- */

/* The worker of req's handler, valid from worker_init() until worker_exit() returns. Each handler
 * has its own. */
struct h2d_worker *h2d_req_worker(const struct h2d_req *req);

/* The context that worker_init() has set. */
void *h2d_worker_context(const struct h2d_worker *worker);

/* True while this worker shuts down and only finishes its requests, for up to shutdown-timeout
 * after a stop, reload-timeout after a reload or an upgrade. A fill is called then. */
bool h2d_draining(const struct h2d_req *req);

/* Makes a timer for the worker, which calls fn(NULL, context). It belongs to h2d, and is valid
 * until worker_exit() returns. NULL if out of memory. */
struct h2d_timer *h2d_worker_timer_new(struct h2d_worker *worker, h2d_timer_fn *fn);

/* Events of a descriptor; bits. */
enum h2d_change {
	H2D_READABLE = 1, /* there are bytes to read, or the end */
	H2D_WRITABLE = 2,
	H2D_HANGUP = 4, /* an error, or the peer has closed its end */
};

/* Called on the loop for each change: read or write until EAGAIN, because there is no second call
 * for the same bytes (EPOLLET, epoll(7)). The first call reports the current state. */
typedef void h2d_watch_fn(void *arg, unsigned changes);

struct h2d_watch;

/*
 * Watches fd, which must be non-blocking. The handler closes fd, after h2d_watch_free(). NULL if
 * out of memory, or if fd cannot be watched (epoll_ctl(2)). Free a watch for one request in its
 * gone().
 */
struct h2d_watch *h2d_watch_new(struct h2d_worker *worker, int fd, h2d_watch_fn *fn, void *arg);

/* Ends the calls of fn at once. watch may be NULL. */
void h2d_watch_free(struct h2d_watch *watch);

/* --- the configuration ------------------------------------------------------------------------ */

/*
 * The values of the handler's own keys: rows of the conf.def in its directory (TUTORIAL.md), set in
 * the section handler "NAME" of h2d.conf. They are valid, and do not change, until worker_exit()
 * returns: a reload starts new workers. A key that conf.def does not have, or with another type, is
 * a mistake that ends the worker.
 *
 * STRING, PATH, READ_PATH, WRITE_PATH: never NULL; a path is absolute, or "".
 */
const char *h2d_conf_string(const struct h2d_worker *worker, const char *key);

/* NUMBER, SIZE (in bytes), SECONDS, or the index of a CHOICE, from 0. */
uint64_t h2d_conf_number(const struct h2d_worker *worker, const char *key);

bool h2d_conf_bool(const struct h2d_worker *worker, const char *key);

/* The i-th item of a LIST, from 0; NULL if there is none. */
const char *h2d_conf_item(const struct h2d_worker *worker, const char *key, unsigned i);

/* --- work that blocks ------------------------------------------------------------------------- */

/*
 * Runs in a thread, so it may block or compute. It may use job, but neither the request nor the
 * handler's state, which may end at any time, and may call only h2d_work_unwanted(), h2d_wake() and
 * h2d_waker_free(). It must return: pthread_exit(3) and exit(3) end the worker, as a crash does.
 * Its stack has 256 KiB, and it gets no signals except those of its own faults.
 */
typedef void h2d_work_run(void *job);

/* Called on the loop after run(). It may make any call, also reply. If the request is gone, req and
 * state are NULL: then only free job. */
typedef void h2d_work_done(struct h2d_req *req, void *state, void *job);

/*
 * Calls run(job) in a thread, then done(req, state, job) on the loop. Returns 0: then done() is
 * called exactly once, never from inside this call. If the request ends first, done() is called
 * after gone(), and run() only if a thread has begun it. Returns -1 if out of memory or threads:
 * neither is called.
 *
 * job belongs to the handler: allocate it with malloc(3), and free it in done(). Memory of the
 * request (h2d_req_alloc(), state) does not live long enough. Between this call and done(), only
 * run() may use job.
 *
 * The handlers of a worker share limits.handler-threads threads (16), which do not open or read
 * files. A client may use half of the free threads, or one. Further jobs wait in a queue in which
 * clients take turns. A job that takes longer than timeouts.handler is logged. A worker that shuts
 * down waits for running jobs; the master kills it two seconds after shutdown-timeout or
 * reload-timeout.
 */
int h2d_work(struct h2d_req *req, h2d_work_run *run, h2d_work_done *done, void *job);

/* For run(job), between the steps of a long job: whether its request is gone. done() is called
 * nevertheless. */
bool h2d_work_unwanted(const void *job);

/* --- other threads ---------------------------------------------------------------------------- */

struct h2d_waker;

/* Called on the loop, once for all wakes since the last call. It may make any call, also reply. */
typedef void h2d_wake_fn(struct h2d_req *req, void *state);

/*
 * Makes a waker for this request. Threads of the handler (of a client library, for example) must
 * not use the request, which may end at any time, but may wake it. The handler must call
 * h2d_waker_free(), also after gone(). NULL if out of memory or descriptors.
 */
struct h2d_waker *h2d_waker_new(struct h2d_req *req, h2d_wake_fn *fn);

/* From any thread: makes the loop call fn(req, state) soon, unless the request is gone. */
void h2d_wake(struct h2d_waker *waker);

/* From any thread: frees the waker. A pending wake still calls fn. waker may be NULL. */
void h2d_waker_free(struct h2d_waker *waker);

/* --- messages --------------------------------------------------------------------------------- */

/*
 * Called on the loop for each message of the topic; data is valid during the call. It may make any
 * call, also reply. data NULL: this worker was too slow, and has lost messages of this topic or of
 * others.
 */
typedef void h2d_message_fn(struct h2d_req *req, void *state, const char *data, size_t len);

/*
 * Calls fn for each message of topic (up to 255 bytes, copied) until the request ends. Returns 0,
 * or -1 if out of memory, descriptors or threads, or if topic is too long.
 */
int h2d_subscribe(struct h2d_req *req, const char *topic, h2d_message_fn *fn);

/*
 * Sends len bytes of data (up to 65536) to all subscribers of topic, in all workers including this
 * one and workers that drain after a reload. All get messages in the same order. After an upgrade,
 * old and new workers do not reach each other. Returns 0, or -1 if data or topic is too long, or
 * other workers block sending.
 */
int h2d_publish(struct h2d_worker *worker, const char *topic, const void *data, size_t len);

#ifdef __cplusplus
}
#endif

#endif
