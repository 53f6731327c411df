/*
 * stream_conn: the life of a connection over a descriptor, and its answers for the session. It
 * knows TLS and HTTP by their interfaces only, and never frees inside an event batch.
 */
#include "conn/stream_conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/tcp.h"

enum { CONNS_KEPT = 1024, BLOCKS_KEPT = 256 };

static const char *const flag_names[] = {
#define STREAM_FLAG(name, help) #name,
#include "conn/stream_flag.def"
	NULL
};

int stream_env_init(struct stream_env *env, struct sessions *all, unsigned handshakes)
{
	env->all = all;
	handshakes_init(&env->handshakes, handshakes);
	pool_init(&env->conns, sizeof(struct stream_conn), CONNS_KEPT);
	pool_init(&env->blocks, OUTQ_BLOCK, BLOCKS_KEPT);
	env->share = (struct turn_share){ 0 };
	env->input = malloc(STREAM_INPUT);
	return env->input != NULL ? 0 : -1;
}

void stream_env_fini(struct stream_env *env)
{
	pool_fini(&env->conns);
	pool_fini(&env->blocks);
	free(env->input);
}

/* --- the session's questions ------------------------------------------------------------------ */

/* Unread bytes of the socket; those in TLS are read at once. */
static int unread_of(const struct stream_conn *c)
{
	int n = 0;

	return ioctl(c->transport->fd, FIONREAD, &n) == 0 ? n : 0;
}

/*
 * Bytes that came since the last look may be a request that crosses the end: treated as patiently
 * as one under way.
 */
static void conn_drain(struct session *s, bool patient)
{
	struct stream_conn *c = (struct stream_conn *)s;

	if (c->proto != NULL)
		c->proto->ops->drain(c->proto, patient || unread_of(c) > 0);
	loop_at_turn_end(s->all->loop, &c->flush);
}

static bool conn_ask(struct session *s, struct lender *lender)
{
	struct stream_conn *c = (struct stream_conn *)s;

	if (c->proto != NULL)
		c->proto->ops->ask(c->proto, lender);
	return outq_ask(&c->out, lender);
}

static enum proto_wait wait_of(const struct stream_conn *c)
{
	enum proto_wait wait;

	if (outq_len(&c->out) > 0 || c->transport->ops->pending(c->transport) ||
		stream_is(c, STREAM_BLOCKED))
		return PROTO_SEND;
	wait = c->proto != NULL ? c->proto->ops->waits(c->proto) : PROTO_HEADER;
	/* The protocol itself checks streams stalled by the peer's windows. */
	return wait == PROTO_SEND ? PROTO_BUSY : wait;
}

static struct session_need conn_waits(const struct session *s)
{
	const struct stream_conn *c = (const struct stream_conn *)s;
	struct session_need need = { .wait = wait_of(c) };

	/* Bytes that leave the kernel are progress, without an event while it has many. */
	if (need.wait == PROTO_SEND)
		need.passed =
			c->taken - (stream_is(c, STREAM_WIDE) ? tcp_unsent(c->transport->fd) : 0);
	if (c->proto == NULL)
		return need;
	need.requests = (uint32_t)c->proto->requests;
	/* A response made of the body may be what continues. */
	if (need.wait == PROTO_BODY)
		need.passed = c->proto->body + c->taken;
	return need;
}

static bool conn_timed_out(struct session *s)
{
	struct stream_conn *c = (struct stream_conn *)s;

	return c->proto->ops->look(c->proto, clock_ms(), s->http.error) == NULL;
}

static const struct err *conn_tick(struct session *s, uint64_t now_ms)
{
	struct stream_conn *c = (struct stream_conn *)s;

	return c->proto->ops->look(c->proto, now_ms, NULL);
}

static void conn_look(const struct session *s, struct session_look *look)
{
	const struct stream_conn *c = (const struct stream_conn *)s;

	look->transport = c->transport->ops->name;
	look->bytes_in = c->received;
	look->bytes_out = c->taken;
	look->unread = (size_t)unread_of(c);
	look->held = c->held.bytes.n;
	look->queued = outq_len(&c->out);
	look->heard = s->state == SESSION_HANDSHAKE ? c->transport->heard || c->held.bytes.n > 0
						    : c->proto != NULL || c->sniff.n > 0;
	flags_text(flag_names, c->flags, look->flags);
	if (c->proto != NULL)
		c->proto->ops->tell(c->proto, &look->told);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void conn_kill(struct session *s)
{
	struct stream_conn *c = (struct stream_conn *)s;
	struct loop *loop = s->all->loop;

	if (c->transport->reason != NULL)
		log_peer(LEVEL_INFO, "connection %s: TLS%s: %s", ADDR_HOST(&s->http.peer),
			s->state == SESSION_HANDSHAKE ? " handshake" : "", c->transport->reason);
	handshakes_end(c);
	loop_unwatch(loop, &c->watch);
	loop_cancel(&c->flush);
	loop_cancel(&c->again);
	loop_defer(loop, &c->reap);
}

static void conn_reap(struct task *t)
{
	struct stream_conn *c = LIST_ENTRY(t, struct stream_conn, reap);

	if (c->proto != NULL)
		c->proto->ops->close(&c->proto);
	outq_clear(&c->out);
	input_backlog_clear(&c->held);
	loop_cancel(&c->flush);
	loop_cancel(&c->again);
	c->transport->ops->close(&c->transport);
	session_fini(&c->session);
	pool_put(&c->env->conns, c);
}

/* --- the beginning ---------------------------------------------------------------------------- */

static const struct session_ops ops = {
	.kill = conn_kill,
	.drain = conn_drain,
	.ask = conn_ask,
	.waits = conn_waits,
	.timed_out = conn_timed_out,
	.tick = conn_tick,
	.look = conn_look,
};

int stream_conn_open(
	struct stream_env *env, struct transport *t, const struct http_conn *as, bool proxy)
{
	struct stream_conn *c = pool_get(&env->conns);
	int rv;

	if (c == NULL)
		return -1;
	memset(c, 0, sizeof(*c));
	c->session.ops = &ops;
	c->env = env;
	c->transport = t;
	stream_turn_init(c);
	rv = loop_watch(env->all->loop, &c->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	if (rv < 0) {
		log_peer(LEVEL_ERROR, "connection %s: epoll_ctl: %s; closing it",
			ADDR_HOST(&as->peer), strerror(-rv));
		pool_put(&env->conns, c);
		return -1;
	}
	c->opened_us = as->tls == HTTP_TLS_OURS ? clock_read_us() : 0;
	outq_init(&c->out, &env->blocks);
	task_init(&c->reap, conn_reap);
	list_init(&c->shaking);
	session_init(&c->session, env->all, as);
	session_timer_init(&c->session);
	/* The first bytes are often here already: saves a turn. */
	stream_set(c, STREAM_NEW | STREAM_READABLE | (proxy ? STREAM_PROXY : 0));
	loop_ready(env->all->loop, &c->again);
	return 0;
}
