/*
 * h2d/worker.h: the worker process in which a handler runs: timers, descriptors, threads, and
 * messages to handlers in all workers. Included by h2d/handler.h.
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

/* True once this worker is shutting down and only finishes what it has: a stop cuts that off after
 * shutdown-timeout, a reload or an upgrade after reload-timeout. A fill is called then. */
bool h2d_draining(const struct h2d_req *req);

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

/* --- the configuration ------------------------------------------------------------------------ */

/*
 * Values of the handler's own keys, which are rows of the conf.def of its folder (TUTORIAL.md) and
 * stand in the section handler "NAME" of h2d.conf. key ends in NUL. What is returned is the
 * server's until worker_exit() returned, and the same for so long: a reload makes new workers. A
 * key that conf.def has not, or that is of another type, is a mistake of the handler and ends the
 * worker.
 *
 * STRING, PATH, READ_PATH, WRITE_PATH: ends in NUL, never NULL; paths are absolute, or "".
 */
const char *h2d_conf_string(const struct h2d_worker *worker, const char *key);

/* NUMBER, SIZE (in bytes), SECONDS; of CHOICE which of them it is, 0 being the first. */
uint64_t h2d_conf_number(const struct h2d_worker *worker, const char *key);

bool h2d_conf_bool(const struct h2d_worker *worker, const char *key);

/* The i-th of a LIST, ends in NUL; NULL if there is no i-th. */
const char *h2d_conf_item(const struct h2d_worker *worker, const char *key, unsigned i);

/* --- work that blocks ------------------------------------------------------------------------- */

/*
 * In a thread: may block, in system calls or by computing. Calls nothing of this header but
 * h2d_work_unwanted(), and touches neither the request nor the handler's state, which may end at
 * any time; job is all it has. It returns: pthread_exit(3) and exit(3) end the worker, as a signal
 * does. Its stack has 256 KiB, and it gets no signals except those of its own faults.
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
 * Each worker has some threads (limits.handler-threads of the configuration, 16) for the work of
 * all handlers, of which a client has a share: half of those that are left, or one. What is beyond
 * that waits in line, in which clients take turns; what has taken longer than timeouts.handler is
 * logged. They are not those that open and read files. A worker that leaves waits for what runs;
 * the master ends it two seconds after shutdown-timeout, or reload-timeout.
 */
int h2d_work(struct h2d_req *req, h2d_work_run *run, h2d_work_done *done, void *job);

/* In run(job), between the steps of a long one: whether its request is gone, so that nobody waits
 * for what comes of it. done() is called all the same. */
bool h2d_work_unwanted(const void *job);

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
 * too long, or other workers keep this one from sending.
 */
int h2d_publish(struct h2d_worker *worker, const char *topic, const void *data, size_t len);

#ifdef __cplusplus
}
#endif

#endif
