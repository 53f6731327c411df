/* stream_turn: only this file reads, feeds and writes a connection. */

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "conn/stream_conn.h"
#include "net/tcp.h"

enum {
	READ_BUDGET =
		2 * STREAM_INPUT, /* bytes per turn and connection, and so at most 14 000 frames */
	WRITE_HEAD = 4096, /* of a head before them, which would move as many to another write */
	WRITE_TIGHT = 64 * 1024, /* bytes made so, after the socket took less than offered */
	READ_CALLS = 4,          /* of recv() per turn: ciphertext may be work without bytes */
	WIDE_MS = 10,            /* a peer that makes room within this gets more at a time */
	NARROW_MS = 100,         /* a peer that takes longer loses that */
	LINGER_QUIET_MS = 2000,  /* without a byte from the peer */
	LINGER_WHOLE_MS = 30000, /* in all */
	LINGER_BYTES_MAX = 16 << 20,
};

/* --- the end ---------------------------------------------------------------------------------- */

/*
 * All is sent, the end included; waits for the peer's end, and drops bytes until then: a close with
 * unread bytes is a reset, which destroys what the peer has not read.
 */
static void conn_linger(struct stream_conn *c)
{
	input_backlog_clear(&c->held);
	session_go(&c->session, SESSION_LINGER);
	c->linger_end_ms = clock_ms() + LINGER_WHOLE_MS;
	c->lingered = 0;
	session_timer_set(&c->session, LINGER_QUIET_MS);
	stream_set(c, STREAM_READABLE);
	loop_ready(c->session.all->loop, &c->again);
}

/* --- output ----------------------------------------------------------------------------------- */

/* True if no output is left, here or in the transport, and none was given back because the socket
 * is full. */
static bool conn_empty(const struct stream_conn *c)
{
	return outq_len(&c->out) == 0 && !c->transport->ops->pending(c->transport) &&
	       !stream_is(c, STREAM_BLOCKED);
}

/* The socket is full. */
static void conn_block(struct stream_conn *c)
{
	stream_set(c, STREAM_BLOCKED | STREAM_TIGHT);
	c->blocked_ms = clock_ms();
}

/* The kernel's share of unsent bytes: for a slow peer it would cost memory, and for a protocol with
 * urgent responses, time. */
static int unsent_of(const struct stream_conn *c, uint64_t ms)
{
	if (c->proto == NULL || !c->proto->ops->in_order || ms > NARROW_MS ||
		(ms > WIDE_MS && !stream_is(c, STREAM_WIDE)))
		return TCP_UNSENT_LEAST;
	return stream_is(c, STREAM_RANGES) ? TCP_UNSENT_RANGES : TCP_UNSENT_WIDE;
}

/*
 * There is room again, after a time that shows the peer's speed. Each time costs a turn and a
 * write, so a fast one gets more of a long response ahead.
 */
static void conn_unblock(struct stream_conn *c)
{
	int most = unsent_of(c, clock_ms() - c->blocked_ms);

	if (!stream_is(c, STREAM_BLOCKED))
		return;
	stream_clear(c, STREAM_BLOCKED);
	if (most == c->unsent || tcp_limit_unsent(c->transport->fd, most) != 0)
		return;
	c->unsent = most;
	stream_clear(c, STREAM_WIDE);
	if (most > TCP_UNSENT_LEAST)
		stream_set(c, STREAM_WIDE);
}

static void turn_share_enter(struct turn_share *s, uint64_t turn)
{
	if (s->turn == turn)
		return;
	s->before = s->now;
	if (s->turn + 1 != turn)
		s->before.brief = s->before.lengthy = 0;
	s->now.brief = s->now.lengthy = 0;
	s->turn = turn;
}

void turn_share_wrote(struct turn_share *s, uint64_t turn, bool lengthy)
{
	turn_share_enter(s, turn);
	s->now.brief += !lengthy;
	s->now.lengthy += lengthy;
}

size_t turn_share_piece(struct turn_share *s, uint64_t turn, size_t most)
{
	unsigned lengthy;
	size_t piece;

	turn_share_enter(s, turn);
	lengthy = s->now.lengthy > s->before.lengthy ? s->now.lengthy : s->before.lengthy;
	if (lengthy * (size_t)PIECE_MOST <= most || s->now.brief + s->before.brief == 0)
		return PIECE_MOST;
	piece = most / lengthy;
	return piece > PIECE_LEAST ? piece : PIECE_LEAST;
}

/* Bytes: made output is not overtaken by more urgent (RFC 9218). */
static size_t made_ahead(const struct stream_conn *c)
{
	bool tls = c->session.http.tls == HTTP_TLS_OURS;
	size_t share = turn_share_piece(
		&c->env->share, c->session.all->loop->turns, tls ? TURN_BYTES_TLS : TURN_BYTES);

	if (stream_is(c, STREAM_TIGHT) && !stream_is(c, STREAM_WIDE) && share > WRITE_TIGHT)
		return WRITE_TIGHT;
	return share;
}

/* The socket has taken n of the offered bytes. */
static void conn_count(struct stream_conn *c, size_t n, size_t offered)
{
	uint64_t turn = c->session.all->loop->turns;

	COUNT(bytes_out, n);
	c->taken += n;
	if (n >= PIECE_LEAST) {
		turn_share_wrote(&c->env->share, turn, true);
		stream_set(c, STREAM_LONG);
	} else if (n == offered) {
		if (!stream_is(c, STREAM_LONG))
			turn_share_wrote(&c->env->share, turn, false);
		stream_clear(c, STREAM_LONG);
	}
}

/*
 * Makes output and writes it, once. 1: there may be more at once, 0: not now, -1: dead. A range of
 * a file is queued only during this: the rest goes back to its source, so that stalled peers hold
 * no file, and its source checks it again.
 */
static int conn_write(struct stream_conn *c)
{
	size_t piece = made_ahead(c), most = PIECE_MOST, offered;
	bool range, refused;
	int more = 0;
	ssize_t n;

	if (c->proto != NULL)
		more = c->proto->ops->output(c->proto, &c->out, piece);
	if (more < 0) {
		outq_return_range(&c->out);
		return -1;
	}
	if (conn_empty(c))
		return more;
	if (c->proto != NULL && c->proto->ops->in_order)
		most += WRITE_HEAD;
	stream_clear(c, STREAM_RANGES);
	range = outq_has_range(&c->out);
	if (range) {
		stream_set(c, STREAM_RANGES);
		most = outq_len(&c->out);
	}
	offered = outq_len(&c->out) < most ? outq_len(&c->out) : most;
	n = c->transport->ops->send(c->transport, &c->out, most);
	refused = range && outq_return_range(&c->out);
	if (n == -EAGAIN && !refused) {
		conn_block(c);
		return 0;
	}
	if (n == -EAGAIN)
		n = 0;
	if (n < 0) {
		log_debug("connection %s: send: %s", ADDR_HOST(&c->session.http.peer),
			strerror((int)-n));
		return -1;
	}
	conn_count(c, (size_t)n, offered);
	if (refused)
		return 1;
	if ((size_t)n < offered || c->transport->ops->pending(c->transport)) {
		conn_block(c);
		return 0;
	}
	stream_clear(c, STREAM_TIGHT);
	/* Cut by our own limit, the socket is not full, and no event would come. */
	return more || outq_len(&c->out) > 0;
}

/* Checks for the end of input and output, and reports the peer's end to the protocol. */
static bool conn_find_end(struct stream_conn *c)
{
	enum proto_wait wait;

	if (stream_is(c, STREAM_CLOSING))
		return true;
	if (c->proto == NULL)
		return stream_is(c, STREAM_EOF);
	wait = c->proto->ops->waits(c->proto);
	if (!stream_is(c, STREAM_EOF))
		return wait == PROTO_OVER;
	/* After its end a peer never opens a window that stalls a stream. */
	if (wait != PROTO_BUSY)
		return true;
	c->proto->eof = true;
	return c->proto->ops->look(c->proto, clock_ms(), NULL) != NULL;
}

/*
 * Offers bytes to the protocol; returns how many it did not take. Output is made in between, not
 * written: still one write per turn.
 */
static size_t feed(struct stream_conn *c, const char *p, size_t n)
{
	bool made = false;

	while (n > 0 && !stream_is(c, STREAM_CLOSING)) {
		size_t taken = n;
		int more;
		const struct err *err = c->proto->ops->input(c->proto, p, &taken, clock_ms());

		if (err != NULL) {
			err_log(err, &c->session.http.peer);
			if (err->h2_code != 0)
				COUNT(protocol_errors, 1);
			stream_set(c, STREAM_CLOSING);
			break;
		}
		p += taken;
		n -= taken;
		if (n == 0 || (taken == 0 && made))
			return n;
		more = c->proto->ops->output(c->proto, &c->out, PIECE_MOST);
		outq_return_range(&c->out); /* ranges of files are not kept */
		if (more < 0) {
			session_kill(&c->session);
			break;
		}
		made = true;
	}
	return 0;
}

static void conn_flush(struct stream_conn *c)
{
	int more = 0;

	if (!session_speaks(&c->session))
		return;
	if (c->written_turn == c->session.all->loop->turns) {
		loop_ready(c->session.all->loop, &c->again);
		return;
	}
	c->written_turn = c->session.all->loop->turns;
	if (!stream_is(c, STREAM_BLOCKED))
		more = conn_write(c);
	if (more < 0) {
		session_kill(&c->session);
		return;
	}
	if (more > 0) {
		loop_ready(c->session.all->loop, &c->again);
	} else if (conn_empty(c) && conn_find_end(c)) {
		/* All is written: closes without a reset that would destroy bytes in flight. */
		c->transport->ops->shutdown(c->transport);
		if (stream_is(c, STREAM_EOF))
			session_kill(&c->session);
		else
			conn_linger(c);
	} else if (c->held.bytes.n > 0) {
		size_t n = c->held.bytes.n, left = feed(c, c->held.bytes.p, n);

		input_backlog_skip(&c->held, n - left);
		if (left < n && c->session.state != SESSION_DEAD)
			loop_ready(c->session.all->loop, &c->again);
	}
	session_timer_update(&c->session);
}

static void conn_flush_task(struct task *t)
{
	conn_flush(LIST_ENTRY(t, struct stream_conn, flush));
}

static void conn_wake(struct proto_host *host)
{
	struct stream_conn *c = LIST_ENTRY(host, struct stream_conn, host);

	if (c->session.state != SESSION_DEAD)
		loop_at_turn_end(c->session.all->loop, &c->flush);
}

/* --- input ------------------------------------------------------------------------------------ */

static void conn_offer(struct stream_conn *c, const char *p, size_t n)
{
	size_t left = n;

	if (c->held.bytes.n == 0)
		left = feed(c, p, n);
	if (left > 0 && c->session.state != SESSION_DEAD &&
		input_backlog_add(&c->held, p + n - left, left) < 0)
		session_kill(&c->session);
}

/* The open() of a protocol. */
typedef struct proto *conn_open_fn(const struct proto_conf *, struct proto_host *);

static int conn_speak(struct stream_conn *c, conn_open_fn *speak)
{
	const struct proto_ops *ops;

	c->proto = speak(&c->env->proto, &c->host);
	if (c->proto == NULL)
		return -1;
	ops = c->proto->ops;
	c->session.protocol = ops->name;
	c->session.http.takes_ranges = ops->in_order && c->transport->takes_ranges;
	c->session.drain_ms = ops->drain_ms;
	if (c->session.state == SESSION_DRAIN)
		ops->drain(c->proto, true);
	return 0;
}

/* By ALPN, and without TLS by the first bytes; NULL: more are needed. */
static conn_open_fn *conn_sniff(struct stream_conn *c, const char *p, size_t n, size_t *taken)
{
	*taken = 0;
	if (c->session.http.tls == HTTP_TLS_OURS)
		return slice_eq(c->transport->alpn, SLICE("h2")) ? h2_open : h1_open;
	switch (proto_sniff(&c->sniff, (const uint8_t *)p, n, taken)) {
	case PROTO_SNIFF_MORE:
		return NULL;
	case PROTO_SNIFF_H1:
		/* HTTP/2 refuses any other preface (RFC 9113, 3.4). */
		return c->session.http.only_h2 ? h2_open : h1_open;
	default:
		return h2_open;
	}
}

static void conn_first(struct stream_conn *c, const char *p, size_t n)
{
	size_t taken;
	conn_open_fn *speak = conn_sniff(c, p, n, &taken);

	if (speak == NULL)
		return;
	if (conn_speak(c, speak) < 0) {
		session_kill(&c->session);
		return;
	}
	if (c->sniff.n > 0)
		conn_offer(c, (const char *)c->sniff.bytes, c->sniff.n);
	if (n > taken && c->session.state != SESSION_DEAD)
		conn_offer(c, p + taken, n - taken);
}

static void conn_input(struct stream_conn *c, const char *p, size_t n)
{
	if (c->session.state == SESSION_LINGER) {
		/* A peer that keeps sending a refused body reads the answer afterwards; but a flood
		 * is not read to its end. */
		c->lingered += n;
		if (!c->session.all->draining && c->lingered <= LINGER_BYTES_MAX &&
			clock_ms() + LINGER_QUIET_MS <= c->linger_end_ms)
			session_timer_set(&c->session, LINGER_QUIET_MS);
	} else if (stream_is(c, STREAM_CLOSING)) {
		return;
	} else if (c->proto != NULL) {
		conn_offer(c, p, n);
	} else {
		conn_first(c, p, n);
	}
}

static void conn_read(struct stream_conn *c)
{
	size_t got = 0;
	unsigned calls = 0;

	while (stream_is(c, STREAM_READABLE) && calls++ < READ_CALLS && got < READ_BUDGET &&
		c->held.bytes.n == 0 && c->session.state != SESSION_DEAD) {
		ssize_t n = c->transport->ops->recv(c->transport, c->env->input, STREAM_INPUT);

		if (n == -EAGAIN) {
			/* A short read of records without content; the end follows. */
			if (!stream_is(c, STREAM_HANGUP))
				stream_clear(c, STREAM_READABLE);
			break;
		} else if (n == -EINTR) {
			break;
		} else if (n < 0) {
			log_debug("connection %s: recv: %s", ADDR_HOST(&c->session.http.peer),
				strerror((int)-n));
			session_kill(&c->session);
		} else if (n == 0) {
			stream_clear(c, STREAM_READABLE);
			stream_set(c, STREAM_EOF);
		} else {
			got += (size_t)n;
			c->received += (uint64_t)n;
			COUNT(bytes_in, n);
			if (c->transport->drained && !stream_is(c, STREAM_HANGUP))
				stream_clear(c, STREAM_READABLE);
			conn_input(c, (const char *)c->env->input, (size_t)n);
		}
	}
	if (c->session.state == SESSION_LINGER && stream_is(c, STREAM_EOF))
		session_kill(&c->session);
	/* Held input waits for answers that cannot be sent. */
	if (stream_is(c, STREAM_DEAF) && c->held.bytes.n > 0)
		session_kill(&c->session);
	if (stream_is(c, STREAM_READABLE) && c->held.bytes.n == 0 &&
		c->session.state != SESSION_DEAD)
		loop_ready(c->session.all->loop, &c->again);
}

/* --- the turn --------------------------------------------------------------------------------- */

static void conn_begin(struct stream_conn *c)
{
	size_t said;

	if (!stream_handshake(c, &said))
		return;
	session_open(&c->session);
	stream_set(c, STREAM_READABLE); /* the last bytes of the handshake may have brought more */
	if (said > 0)
		conn_input(c, (const char *)c->env->input, said);
	session_timer_update(&c->session);
}

static void conn_work(struct stream_conn *c)
{
	if (c->session.state == SESSION_HANDSHAKE)
		conn_begin(c);
	if (c->session.state == SESSION_HANDSHAKE || c->session.state == SESSION_DEAD)
		return;
	if (stream_is(c, STREAM_READABLE))
		conn_read(c);
	/* Now, not at the end of the turn: the input is still in the processor's cache. */
	loop_cancel(&c->flush);
	conn_flush(c);
}

static void conn_again(struct task *t)
{
	conn_work(LIST_ENTRY(t, struct stream_conn, again));
}

static void conn_event(struct watch *w, uint32_t events)
{
	struct stream_conn *c = LIST_ENTRY(w, struct stream_conn, watch);

	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		stream_set(c, STREAM_READABLE);
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		stream_set(c, STREAM_HANGUP);
	if (events & (EPOLLHUP | EPOLLERR))
		stream_set(c, STREAM_DEAF);
	/* All is read, and no output can be sent: the peer is gone. */
	if (stream_is(c, STREAM_DEAF) && stream_is(c, STREAM_EOF)) {
		session_kill(&c->session);
		return;
	}
	if (events & EPOLLOUT)
		conn_unblock(c);
	conn_work(c);
}

void stream_turn_init(struct stream_conn *c)
{
	c->watch.fn = conn_event;
	c->watch.fd = c->transport->fd;
	c->written_turn = UINT64_MAX;
	c->unsent = TCP_UNSENT_LEAST;
	c->host.wake = conn_wake;
	c->host.conn = &c->session.http;
	task_init(&c->flush, conn_flush_task);
	task_init(&c->again, conn_again);
}
