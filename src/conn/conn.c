/*
 * conn: a connection's turns: reads what the socket has, feeds the protocol, makes output and
 * writes it, once per turn; what is woken from elsewhere is written at the end of the turn. The
 * loop calls it. It knows TLS and HTTP by their seams only, and never frees inside an event batch.
 */
#include "conn/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "conn/conn_cleartext.h"
#include "conn/conn_idle.h"
#include "conn/conn_linger.h"
#include "conn/conn_proxy.h"
#include "conn/conn_state.h"
#include "conn/conn_timer.h"
#include "request/account.h"

enum {
	READ_BUDGET =
		2 * CONN_INPUT,   /* bytes per turn and connection, and so at most 14 000 frames */
	WRITE_PIECE = 256 * 1024, /* bytes made before one write */
	WRITE_TIGHT = 64 * 1024,  /* the same, after the socket took less than it was offered */
	READ_CALLS = 4,           /* of recv() per turn: ciphertext may be work and no bytes */
};

/* --- the end ---------------------------------------------------------------------------------- */

static void count_end(const struct conn *c)
{
	if (!c->env->draining || c->http.admin)
		return;
	if (c->env->cutting)
		COUNT(connections_cut, 1);
	else
		COUNT(connections_drained, 1);
}

static void conn_reap(struct task *t)
{
	struct conn *c = LIST_ENTRY(t, struct conn, reap);
	struct conn_env *env = c->env;

	if (c->proto != NULL)
		c->proto->ops->close(&c->proto);
	outq_clear(&c->out);
	input_backlog_clear(&c->held);
	loop_cancel(&c->flush);
	loop_cancel(&c->again);
	c->transport->ops->close(&c->transport);
	account_close(&c->http.account);
	list_remove(&c->node);
	list_remove(&c->idle);
	env->nlive--;
	env->nleaving -= c->leaving;
	env->nadmin -= c->http.admin;
	COUNT(connections, -1);
	count_end(c);
	pool_put(&env->conns, c);
	if (env->gone != NULL)
		env->gone(env);
}

void conn_kill(struct conn *c)
{
	if (c->state == CONN_DEAD)
		return;
	if (c->transport->reason != NULL)
		log_peer(LEVEL_INFO, "%s: TLS%s: %s", ADDR_HOST(&c->http.peer),
			c->state == CONN_HANDSHAKE ? " handshake" : "", c->transport->reason);
	conn_go(c, CONN_DEAD);
	loop_unwatch(c->env->loop, &c->watch);
	timer_disarm(&c->env->loop->wheel, &c->timer);
	loop_cancel(&c->flush);
	loop_cancel(&c->again);
	loop_defer(c->env->loop, &c->reap);
}

static void conn_fail(struct conn *c, const struct err *err)
{
	err_log(err, &c->http.peer);
	if (err->h2_code != 0)
		COUNT(protocol_errors, 1);
	c->closing = true;
}

/* Everything is written: close without a reset that would destroy what is under way. */
static void conn_end(struct conn *c)
{
	c->transport->ops->shutdown(c->transport);
	if (c->eof) {
		conn_kill(c);
		return;
	}
	conn_linger_begin(c);
	c->readable = true;
	loop_ready(c->env->loop, &c->again);
}

/* --- output ----------------------------------------------------------------------------------- */

/* True once nothing is left to send, neither here nor in the transport. */
static bool conn_empty(const struct conn *c)
{
	return outq_len(&c->out) == 0 && !c->transport->ops->pending(c->transport);
}

/* Makes output and writes it, once. 1: there may be more at once, 0: not now, -1: dead. */
static int conn_write(struct conn *c)
{
	/* What is made cannot be overtaken by what is more urgent (RFC 9218). */
	size_t piece = c->tight ? WRITE_TIGHT : WRITE_PIECE, offered;
	int more = 0;
	ssize_t n;

	if (c->proto != NULL)
		more = c->proto->ops->output(c->proto, &c->out, piece);
	if (more < 0)
		return -1;
	if (conn_empty(c))
		return more;
	offered = outq_len(&c->out) < WRITE_PIECE ? outq_len(&c->out) : WRITE_PIECE;
	n = c->transport->ops->send(c->transport, &c->out, WRITE_PIECE);
	if (n == -EAGAIN) {
		c->blocked = c->tight = true;
		return 0;
	}
	if (n < 0) {
		log_debug("connection %s: send: %s", ADDR_HOST(&c->http.peer), strerror((int)-n));
		return -1;
	}
	COUNT(bytes_out, n);
	c->taken += (uint64_t)n;
	if ((size_t)n < offered || c->transport->ops->pending(c->transport)) {
		c->blocked = c->tight = true;
		return 0;
	}
	c->tight = false;
	/* Cut by our own limit, the socket is not full, and no event would come. */
	return more || outq_len(&c->out) > 0;
}

static bool conn_over(struct conn *c)
{
	enum proto_wait waits;

	if (c->closing)
		return true;
	if (c->proto == NULL)
		return c->eof;
	if (c->proto->ops->finished(c->proto))
		return true;
	if (!c->eof)
		return false;
	waits = c->proto->ops->waits(c->proto);
	/* What the peer's window holds up can never be let go by a peer that says no more. */
	if (waits != PROTO_BUSY)
		return true;
	c->proto->eof = true;
	return c->proto->ops->look != NULL && c->proto->ops->look(c->proto, clock_ms()) != NULL;
}

/*
 * Offers bytes to the protocol; how many it did not take. Output is made in between, not written:
 * there is still one write per turn.
 */
static size_t feed(struct conn *c, const char *p, size_t n)
{
	bool made = false;

	while (n > 0 && !c->closing) {
		size_t taken = n;
		const struct err *err = c->proto->ops->input(c->proto, p, &taken, clock_ms());

		if (err != NULL) {
			conn_fail(c, err);
			break;
		}
		p += taken;
		n -= taken;
		if (n == 0 || (taken == 0 && made))
			return n;
		if (c->proto->ops->output(c->proto, &c->out, WRITE_PIECE) < 0) {
			conn_kill(c);
			break;
		}
		made = true;
	}
	return 0;
}

/* True if the protocol took some of what was held. */
static bool conn_retry(struct conn *c)
{
	size_t n = c->held.bytes.n, left = feed(c, c->held.bytes.p, n);

	input_backlog_skip(&c->held, n - left);
	return left < n;
}

static void conn_flush(struct conn *c)
{
	int more = 0;

	if (c->state == CONN_HANDSHAKE || c->state == CONN_LINGER || c->state == CONN_DEAD)
		return;
	if (c->written_turn == c->env->loop->turns) {
		loop_ready(c->env->loop, &c->again);
		return;
	}
	c->written_turn = c->env->loop->turns;
	if (!c->blocked)
		more = conn_write(c);
	if (more < 0) {
		conn_kill(c);
		return;
	}
	if (more > 0)
		loop_ready(c->env->loop, &c->again);
	else if (conn_empty(c) && conn_over(c))
		conn_end(c);
	else if (c->held.bytes.n > 0 && conn_retry(c) && c->state != CONN_DEAD)
		loop_ready(c->env->loop, &c->again);
	conn_timer_update(c);
}

static void conn_flush_task(struct task *t)
{
	conn_flush(LIST_ENTRY(t, struct conn, flush));
}

static void conn_wake(struct proto_host *host)
{
	struct conn *c = LIST_ENTRY(host, struct conn, host);

	if (c->state != CONN_DEAD)
		loop_at_turn_end(c->env->loop, &c->flush);
}

/* --- input ------------------------------------------------------------------------------------ */

static void conn_offer(struct conn *c, const char *p, size_t n)
{
	size_t left = n;

	if (c->held.bytes.n == 0)
		left = feed(c, p, n);
	if (left > 0 && c->state != CONN_DEAD &&
		input_backlog_add(&c->held, p + n - left, left) < 0)
		conn_kill(c);
}

static int conn_speak(struct conn *c, const struct proto_ops *ops)
{
	c->proto = ops->open(&c->env->proto, &c->host);
	if (c->proto == NULL)
		return -1;
	if (c->state == CONN_DRAIN)
		c->proto->ops->drain(c->proto, true);
	return 0;
}

/* By ALPN, and without TLS by the first bytes; NULL: more of them are needed. */
static const struct proto_ops *conn_sniff(struct conn *c, const char *p, size_t n, size_t *taken)
{
	*taken = 0;
	if (c->http.tls)
		return slice_eq(c->transport->alpn, SLICE("h2")) ? &h2_ops : &h1_ops;
	switch (sniff_take(&c->sniff, (const uint8_t *)p, n, taken)) {
	case SNIFF_MORE:
		return NULL;
	case SNIFF_H1:
		return &h1_ops;
	default:
		return &h2_ops;
	}
}

static void conn_first(struct conn *c, const char *p, size_t n)
{
	size_t taken;
	const struct proto_ops *ops = conn_sniff(c, p, n, &taken);

	if (ops == NULL)
		return;
	if (conn_speak(c, ops) < 0) {
		conn_kill(c);
		return;
	}
	if (c->sniff.n > 0)
		conn_offer(c, (const char *)c->sniff.bytes, c->sniff.n);
	if (n > taken && c->state != CONN_DEAD)
		conn_offer(c, p + taken, n - taken);
}

static void conn_input(struct conn *c, const char *p, size_t n)
{
	if (c->state == CONN_LINGER)
		conn_linger_dropped(c, n);
	if (c->state == CONN_LINGER || c->closing)
		return;
	if (c->proto != NULL)
		conn_offer(c, p, n);
	else
		conn_first(c, p, n);
}

static void conn_read(struct conn *c)
{
	size_t got = 0;
	unsigned calls = 0;

	while (c->readable && calls++ < READ_CALLS && got < READ_BUDGET && c->held.bytes.n == 0 &&
		c->state != CONN_DEAD) {
		ssize_t n = c->transport->ops->recv(c->transport, c->env->input, CONN_INPUT);

		if (n == -EAGAIN) {
			/* Of records without content, a short read; the end is behind it. */
			c->readable = c->hangup;
			break;
		} else if (n == -EINTR) {
			break;
		} else if (n < 0) {
			log_debug("connection %s: recv: %s", ADDR_HOST(&c->http.peer),
				strerror((int)-n));
			conn_kill(c);
		} else if (n == 0) {
			c->readable = false;
			c->eof = true;
		} else {
			got += (size_t)n;
			COUNT(bytes_in, n);
			if (c->transport->drained && !c->hangup)
				c->readable = false;
			conn_input(c, (const char *)c->env->input, (size_t)n);
		}
	}
	if (c->state == CONN_LINGER && c->eof)
		conn_kill(c);
	/* What is left to read waits for answers that nobody gets. */
	if (c->deaf && c->held.bytes.n > 0)
		conn_kill(c);
	if (c->readable && c->held.bytes.n == 0 && c->state != CONN_DEAD)
		loop_ready(c->env->loop, &c->again);
}

static void conn_handshake(struct conn *c)
{
	int rv = c->transport->ops->handshake(c->transport);
	size_t said = 0;

	if (rv == -EAGAIN) {
		/* The last bytes and the end came in one event: there will be no other. */
		if (c->hangup)
			loop_ready(c->env->loop, &c->again);
		return;
	}
	if (rv < 0) {
		COUNT(handshake_failures, 1);
		said = conn_cleartext_take(c);
		if (said == 0) {
			conn_kill(c);
			return;
		}
	}
	if (c->http.tls)
		OBSERVE(handshake_us, (int64_t)(clock_read_us() - c->opened_us));
	c->http.certificate = c->transport->certificate;
	c->http.tls_version = c->transport->tls_version;
	c->http.tls_cipher = c->transport->tls_cipher;
	conn_go(c, CONN_OPEN);
	if (c->draining)
		conn_drain(c);
	c->readable = true; /* application data may have come with the handshake's last bytes */
	if (said > 0)
		conn_input(c, (const char *)c->env->input, said);
	conn_timer_update(c);
}

static void conn_work(struct conn *c)
{
	if (c->state == CONN_HANDSHAKE && (!c->http.proxy_awaited || conn_proxy_take(c)))
		conn_handshake(c);
	if (c->state == CONN_HANDSHAKE || c->state == CONN_DEAD)
		return;
	if (c->readable)
		conn_read(c);
	/* Now, not at the end of the turn: what was read is still in the processor's cache. */
	loop_cancel(&c->flush);
	conn_flush(c);
}

static void conn_again(struct task *t)
{
	conn_work(LIST_ENTRY(t, struct conn, again));
}

static void conn_event(struct watch *w, uint32_t events)
{
	struct conn *c = LIST_ENTRY(w, struct conn, watch);

	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->hangup = true;
	if (events & (EPOLLHUP | EPOLLERR))
		c->deaf = true;
	/* All was read, and nothing can be sent: the peer is gone. */
	if (c->deaf && c->eof) {
		conn_kill(c);
		return;
	}
	if (events & EPOLLOUT)
		c->blocked = false;
	conn_work(c);
}

/* --- the beginning ---------------------------------------------------------------------------- */

int conn_open(struct conn_env *env, struct transport *t, const struct http_conn *as)
{
	struct conn *c = pool_get(&env->conns);
	int rv;

	if (c == NULL)
		return -1;
	memset(c, 0, sizeof(*c));
	c->env = env;
	c->watch.fn = conn_event;
	c->watch.fd = t->fd;
	rv = loop_watch(env->loop, &c->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	if (rv < 0) {
		log_peer(LEVEL_ERROR, "connection %s: epoll_ctl: %s", ADDR_HOST(&as->peer),
			strerror(-rv));
		pool_put(&env->conns, c);
		return -1;
	}
	c->transport = t;
	c->state = CONN_HANDSHAKE;
	c->written_turn = UINT64_MAX;
	c->http = *as;
	c->opened_ms = clock_ms();
	c->opened_us = as->tls ? clock_read_us() : 0;
	c->http.files = &c->files;
	if (!as->admin)
		c->http.account = account_open(env->proto.env->accounts, &as->peer);
	place_share_init(&c->files);
	c->host.wake = conn_wake;
	c->host.conn = &c->http;
	outq_init(&c->out, &env->blocks);
	task_init(&c->flush, conn_flush_task);
	task_init(&c->again, conn_again);
	task_init(&c->reap, conn_reap);
	conn_timer_init(c);
	conn_idle_opened(c);
	list_append(&env->live, &c->node);
	env->nlive++;
	env->nadmin += as->admin;
	COUNT(connections, 1);
	COUNT(handshakes, 1);
	conn_timer_set(c, env->timeouts.handshake);
	/* Its first bytes are often here already: one turn less. */
	c->readable = true;
	loop_ready(env->loop, &c->again);
	if (env->draining)
		conn_drain(c);
	return 0;
}

void conn_drain(struct conn *c)
{
	/* Nobody waits for the connection of a worker that leaves; one that is idle for too long,
	 * or makes room, has had its time. */
	bool patient = c->env->draining && c->state == CONN_OPEN;

	/* A client in the middle of its handshake has its first request answered all the same. */
	c->draining = true;
	if (c->state == CONN_OPEN)
		conn_go(c, CONN_DRAIN);
	else if (c->state != CONN_DRAIN)
		return;
	timer_disarm(&c->env->loop->wheel, &c->timer);
	if (c->proto != NULL)
		c->proto->ops->drain(c->proto, patient);
	loop_at_turn_end(c->env->loop, &c->flush);
}
