/*
 * handler_worker: starts and stops handlers, and watches descriptors for them. Called by the worker
 * and by handlers; independent of requests.
 */
#include "api/handler_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "api/websocket.h"
#include "base/log.h"
#include "event/loop.h"

enum { TOLD_MAX = 64 };

struct h2d_watch {
	struct watch watch;
	struct task free;
	struct list node; /* of the worker's */
	struct h2d_worker *worker;
	h2d_watch_fn *fn;
	void *arg;
};

/* --- refused by the sandbox ------------------------------------------------------------------- */

/* The keys that may help against error, as the end of a line; "": none. */
static const char *refused_cure(int error)
{
	switch (error) {
	case EACCES:
		return "; if modes allow it, check read, write and network in section sandbox";
	case EPERM:
	case ENOSYS:
		return "; check network and syscalls in section sandbox";
	default:
		return "";
	}
}

/* C libraries try system calls that may be missing, and do without: ENOSYS means nothing. */
void handler_refused_look(const char *handler, int error)
{
	static const char *told[TOLD_MAX];
	static unsigned ntold;

	if ((error != EACCES && error != EPERM) || ntold == TOLD_MAX)
		return;
	for (unsigned i = 0; i < ntold; i++)
		if (told[i] == handler)
			return;
	told[ntold++] = handler;
	log_warn("handler %s: its work was denied access: %s%s", handler, strerror(error),
		refused_cure(error));
}

/* --- start and stop --------------------------------------------------------------------------- */

static struct h2d_worker *handler_worker_find(
	const struct http_env *env, const struct h2d_handler *handler)
{
	for (unsigned i = 0; i < env->api->nworkers; i++)
		if (env->api->workers[i].handler == handler)
			return &env->api->workers[i];
	return NULL;
}

/* The first handler with WebSockets makes the worker accept some. */
static int allow_websockets(struct http_env *env, const struct h2d_handler *handler)
{
	if (handler->websocket == NULL || env->api->websockets != NULL)
		return 0;
	env->api->websockets = websockets_new(env->api->websocket_memory);
	env->conf.websockets = env->api->websockets != NULL;
	if (env->api->websockets == NULL)
		log_error("handlers: out of memory; exiting");
	return env->api->websockets != NULL ? 0 : -1;
}

static int handler_worker_start(struct h2d_worker *w)
{
	struct crash_call call;
	int rc, error;

	list_init(&w->timers);
	list_init(&w->watches);
	if (allow_websockets(w->env, w->handler) < 0)
		return -1;
	w->started = true;
	if (w->handler->worker_init == NULL)
		return 0;
	handler_worker_enter(&call, w);
	errno = 0;
	rc = w->handler->worker_init(w, &w->context);
	error = errno;
	handler_call_exit();
	if (rc < 0) {
		w->started = false;
		log_error("handler %s: worker_init() failed%s%s; exiting%s", w->handler->name,
			error != 0 ? ": " : "", error != 0 ? strerror(error) : "",
			refused_cure(error));
	}
	return rc < 0 ? -1 : 0;
}

/* Called by exit(3), which only the server may call: no thread in a handler's call. */
static void exits(void)
{
	if (crash_doing() != NULL)
		handler_rule_call("exit()", "ended the worker");
}

int handlers_start(struct http_env *env)
{
	const struct route_table *t = env->conf.routes;
	static bool asked;
	int rc = 0;

	handler_rule_on_loop = true;
	if (!asked)
		asked = atexit(exits) == 0;
	env->api->workers = calloc(t->nroutes + 1, sizeof(*env->api->workers));
	if (env->api->workers == NULL) {
		log_error("handlers: out of memory; exiting");
		return -1;
	}
	for (unsigned i = 0; i < t->nroutes && rc == 0; i++) {
		if (handler_worker_find(env, t->routes[i].handler) != NULL)
			continue;
		env->api->workers[env->api->nworkers] = (struct h2d_worker){
			.env = env,
			.handler = t->routes[i].handler,
		};
		rc = handler_worker_start(&env->api->workers[env->api->nworkers++]);
	}
	return rc;
}

static void handler_worker_stop(struct h2d_worker *w)
{
	struct crash_call call;

	if (w->started && w->handler->worker_exit != NULL) {
		handler_worker_enter(&call, w);
		w->handler->worker_exit(w->context);
		handler_call_exit();
	}
	handler_timer_free(w);
	while (!list_empty(&w->watches))
		h2d_watch_free(LIST_ENTRY(w->watches.next, struct h2d_watch, node));
}

void handlers_stop(struct http_env *env)
{
	while (env->api->nworkers > 0)
		handler_worker_stop(&env->api->workers[--env->api->nworkers]);
	free(env->api->workers);
	env->api->workers = NULL;
	handler_wakes_close(env);
	handler_topics_close(env);
	websockets_free(&env->api->websockets);
}

struct h2d_worker *h2d_req_worker(const struct h2d_req *req)
{
	HANDLER_CALL();
	return req->handler != NULL ? handler_worker_find(req->env, req->handler) : NULL;
}

void *h2d_worker_context(const struct h2d_worker *worker)
{
	HANDLER_CALL();
	return worker->context;
}

/* --- descriptors ------------------------------------------------------------------------------ */

static void on_event(struct watch *w, uint32_t events)
{
	struct h2d_watch *watch = LIST_ENTRY(w, struct h2d_watch, watch);
	unsigned changes = ((events & EPOLLIN) != 0 ? H2D_READABLE : 0) |
			   ((events & EPOLLOUT) != 0 ? H2D_WRITABLE : 0) |
			   ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 ? H2D_HANGUP : 0);
	struct crash_call call;

	handler_worker_enter(&call, watch->worker);
	watch->fn(watch->arg, changes);
	handler_call_exit();
}

static void free_watch(struct task *t)
{
	free(LIST_ENTRY(t, struct h2d_watch, free));
}

struct h2d_watch *h2d_watch_new(struct h2d_worker *worker, int fd, h2d_watch_fn *fn, void *arg)
{
	struct h2d_watch *w = malloc(sizeof(*w));

	HANDLER_CALL();
	if (w == NULL)
		return NULL;
	*w = (struct h2d_watch){
		.watch = { .fn = on_event, .fd = fd },
		.worker = worker,
		.fn = fn,
		.arg = arg,
	};
	task_init(&w->free, free_watch);
	if (loop_watch(worker->env->loop, &w->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP) < 0) {
		free(w);
		return NULL;
	}
	list_append(&worker->watches, &w->node);
	return w;
}

void h2d_watch_free(struct h2d_watch *w)
{
	HANDLER_CALL();
	if (w == NULL)
		return;
	loop_unwatch(w->worker->env->loop, &w->watch);
	list_remove(&w->node);
	loop_defer(w->worker->env->loop, &w->free);
}
