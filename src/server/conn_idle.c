/*
 * conn_idle: keeps the list of idle connections and takes the longest idle one off when a worker
 * is full. conn_timer and worker_room call it; it ends connections by conn_drain() and
 * conn_kill(), and never closes or frees one itself.
 */
#include "server/conn_idle.h"

/* Those told to leave that are waited for: a peer that is gone does not answer. */
enum { LEAVING_MAX = 64 };

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
	if (c->leaving)
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

bool conn_idle_evict(struct conn_env *env)
{
	struct conn *c;

	if (list_empty(&env->idle))
		return false;
	c = LIST_ENTRY(list_pop(&env->idle), struct conn, idle);
	c->leaving = true;
	list_append(&env->leaving, &c->idle);
	if (env->nleaving++ >= LEAVING_MAX)
		kill_first(env);
	conn_drain(c);
	return true;
}
