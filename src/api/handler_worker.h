/*
 * handler_worker: a handler's home in a worker: its context, its timers and its watches, which
 * belong to no request. The worker starts all handlers before its first request, and stops them
 * after its last.
 */
#pragma once

#include "base/conf_pos.h"
#include "request/handler_call.h"

/* Parts that the handlers of a worker share; the worker owns it, http_env has it. */
struct api {
	struct work_line *work_line; /* for h2d_work() */
	struct bus *bus;             /* of all workers, for h2d_publish() */
	const struct conf *conf;     /* for key_value, through which handlers read their keys */
	key_value_fn *key_value;     /* NULL in tests without keys */
	uint64_t websocket_memory;   /* limits.websocket-memory */
	/* Made by handlers_start() and by the first handler that needs them. */
	struct h2d_worker *workers; /* by handler */
	unsigned nworkers;
	struct wakes *wakes;           /* handler_wake.c */
	struct topics *topics;         /* handler_topic.c */
	struct websockets *websockets; /* websocket.h; NULL: no route takes any */
};

struct h2d_worker {
	struct http_env *env;
	const struct h2d_handler *handler;
	void *context;
	bool started;
	struct list timers; /* struct h2d_timer, all of them */
	struct list watches;
};

/*
 * Calls worker_init() of each handler that has a route, once. 0, or -1: one refused, or memory is
 * out, which is logged; handlers_stop() is due in any case.
 */
int handlers_start(struct http_env *env);

/* Calls worker_exit() of started handlers, frees what they left. */
void handlers_stop(struct http_env *env);

/* handler_call_enter() for a call that belongs to no request. */
static inline void handler_worker_enter(struct crash_call *call, const struct h2d_worker *w)
{
	*call = (struct crash_call){ .handler = w->handler->name };
	handler_call_begin(call);
}

/* The name of this handler's rows in conf.def and metrics.def. */
static inline const char *handler_worker_section(const struct h2d_worker *w)
{
	return w->handler->section != NULL ? w->handler->section : w->handler->name;
}

/* Logs, once for each handler, that its work left this errno (0: none), perhaps because of the
 * sandbox. The name lives as long as the process. */
void handler_refused_look(const char *handler, int error);

/* Ends the worker's timers (handler_timer.c). */
void handler_timer_free(struct h2d_worker *w);

/* Called after the last request: wakes end (handler_wake.c). */
void handler_wakes_close(struct http_env *env);

/* Called after the last request: messages end (handler_topic.c). */
void handler_topics_close(struct http_env *env);

/* Delivers the messages so far; for the test kit, whose clock is frozen. */
void handler_topics_read(const struct http_env *env);
