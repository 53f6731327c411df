/*
 * conn_idle: keeps the lists of silent and of idle connections, and takes the first one off when a
 * worker is full. conn, conn_timer and worker_room call it; it ends connections by conn_drain() and
 * conn_kill(), and never closes or frees one itself.
 */
#include "conn/conn_idle.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"

enum {
	LEAVING_MAX = 64, /* told to leave and waited for: a peer that is gone does not answer */
	SILENT_MS = 1000, /* within which a peer that means to ask has asked */
	LOOKS_MAX = 64,   /* silent ones whose sockets are looked at, each time */
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

/* Whether c, which leaves, has nothing more to say or to be told. */
static bool is_done(const struct conn *c)
{
	return c->state == CONN_DEAD || c->state == CONN_LINGER;
}

/* A request may be under way on one that leaves: it came before the peer knew. */
static bool is_idle(const struct conn *c)
{
	return c->proto == NULL || (c->waits == PROTO_IDLE && outq_len(&c->out) == 0);
}

static struct conn *find_leaving(const struct conn_env *env, bool (*is)(const struct conn *c))
{
	LIST_FOREACH(node, &env->leaving) {
		struct conn *c = LIST_ENTRY(node, struct conn, idle);

		if (is(c))
			return c;
	}
	return NULL;
}

/*
 * Whether one more may be told to leave: few are waited for, or one of those can be ended without
 * loss, which is done if end is set.
 */
static bool may_leave(const struct conn_env *env, bool end)
{
	struct conn *c;

	if (env->nleaving < LEAVING_MAX)
		return true;
	c = find_leaving(env, is_done);
	if (c == NULL)
		c = find_leaving(env, is_idle);
	if (end && c != NULL)
		conn_kill(c);
	return c != NULL;
}

/* What waits to be read may be its request: then it is this worker that was late. */
static bool has_unread(const struct conn *c)
{
	char byte;

	return recv(c->transport->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The eldest that has nothing under way to us. */
static struct conn *first_silent(const struct conn_env *env)
{
	unsigned looks = 0;

	LIST_FOREACH(node, &env->silent) {
		struct conn *c = LIST_ENTRY(node, struct conn, idle);

		if (clock_ms() - c->opened_ms < SILENT_MS || looks++ == LOOKS_MAX)
			return NULL;
		if (!has_unread(c))
			return c;
	}
	return NULL;
}

bool conn_idle_any(const struct conn_env *env)
{
	return (!list_empty(&env->idle) && may_leave(env, false)) || first_silent(env) != NULL;
}

/* Browsers open connections that they may need, and balancers to see whether anybody listens. */
static bool never_spoke(const struct conn *c)
{
	if (c->state == CONN_HANDSHAKE)
		return !c->transport->heard && c->held.bytes.n == 0;
	return c->proto == NULL && c->sniff.n == 0;
}

void conn_idle_timed_out(const struct conn *c, const struct err *err)
{
	if (never_spoke(c))
		err_log_silent(err, &c->http.peer);
	else
		err_log(err, &c->http.peer);
}

/* As its timer would later. A peer that has asked for nothing need not be told. */
static void end_silent(struct conn *c)
{
	COUNT(timeouts, 1);
	if (c->state == CONN_HANDSHAKE)
		COUNT(handshake_failures, 1);
	conn_idle_timed_out(
		c, c->state == CONN_HANDSHAKE ? ERR_TIMEOUT_HANDSHAKE : ERR_TIMEOUT_HEADER);
	conn_kill(c);
}

void conn_idle_evict(struct conn_env *env)
{
	struct conn *c = first_silent(env);

	if (c != NULL) {
		end_silent(c);
		return;
	}
	if (list_empty(&env->idle) || !may_leave(env, true))
		return;
	c = LIST_ENTRY(list_pop(&env->idle), struct conn, idle);
	c->leaving = true;
	list_append(&env->leaving, &c->idle);
	env->nleaving++;
	conn_drain(c);
}
