/*
 * conn_idle: keeps the lists of silent and of idle connections, and takes the first one off when a
 * worker is full. conn, conn_timer and worker_room call it; it ends connections by conn_drain() and
 * conn_kill(), and never closes or frees one itself.
 */
#include "server/conn_idle.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum {
	LEAVING_MAX = 64, /* told to leave and waited for: a peer that is gone does not answer */
	SILENT_MS = 1000, /* within which a peer that means to ask has asked */
};

void conn_idle_opened(struct conn *c)
{
	list_init(&c->idle);
	if (!c->http.admin)
		list_append(&c->env->silent, &c->idle);
}

void conn_idle_begin(struct conn *c)
{
	struct conn_env *env = c->env;

	if (c->http.admin || c->leaving || c->state != CONN_OPEN)
		return;
	list_remove(&c->idle);
	list_append(&env->idle, &c->idle);
	if (env->full && env->gone != NULL)
		env->gone(env);
}

void conn_idle_end(struct conn *c)
{
	if (c->leaving || (c->proto == NULL && c->state != CONN_DEAD))
		return;
	list_remove(&c->idle);
	list_init(&c->idle);
}

static void kill_first(struct conn_env *env)
{
	LIST_FOREACH(node, &env->leaving) {
		struct conn *c = LIST_ENTRY(node, struct conn, idle);

		if (c->state == CONN_DEAD)
			continue;
		conn_kill(c);
		return;
	}
}

static struct conn *first_silent(const struct conn_env *env)
{
	struct conn *c;

	if (list_empty(&env->silent))
		return NULL;
	c = LIST_ENTRY(env->silent.next, struct conn, idle);
	return clock_ms() - c->opened_ms >= SILENT_MS ? c : NULL;
}

bool conn_idle_any(const struct conn_env *env)
{
	return !list_empty(&env->idle) || first_silent(env) != NULL;
}

/* As its timer would later. A peer that has asked for nothing need not be told. */
static void end_silent(struct conn *c)
{
	COUNT(timeouts, 1);
	if (c->state == CONN_HANDSHAKE)
		COUNT(handshake_failures, 1);
	err_log(c->state == CONN_HANDSHAKE ? ERR_TIMEOUT_HANDSHAKE : ERR_TIMEOUT_HEADER,
		&c->http.peer);
	conn_kill(c);
}

void conn_idle_evict(struct conn_env *env)
{
	struct conn *c = first_silent(env);

	if (c != NULL) {
		end_silent(c);
		return;
	}
	if (list_empty(&env->idle))
		return;
	c = LIST_ENTRY(list_pop(&env->idle), struct conn, idle);
	c->leaving = true;
	list_append(&env->leaving, &c->idle);
	if (env->nleaving++ >= LEAVING_MAX)
		kill_first(env);
	conn_drain(c);
}
