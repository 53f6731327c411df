/*
 * stream_handshake: peeks at the first bytes (MSG_PEEK), then takes exactly the PROXY header: TLS
 * may follow, which reads the socket itself. The handshake's timeout bounds that. It checks for
 * slow handshakes when another begins, without a timer: without new clients the room is not needed.
 */
#include "conn/stream_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "net/proxy.h"
#include "net/tcp.h"
#include "share/account.h"

/* --- the input for later ---------------------------------------------------------------------- */

/* Bytes are added rarely, and once: removal from the front never moves the rest. */
int input_backlog_add(struct input_backlog *h, const char *p, size_t n)
{
	size_t have = h->bytes.n;
	char *memory = malloc(have + n);

	if (memory == NULL)
		return -1;
	if (have > 0)
		memcpy(memory, h->bytes.p, have);
	memcpy(memory + have, p, n);
	free(h->memory);
	h->memory = memory;
	h->bytes = slice_of(memory, have + n);
	return 0;
}

void input_backlog_skip(struct input_backlog *h, size_t n)
{
	h->bytes = slice_of(h->bytes.p + n, h->bytes.n - n);
	if (h->bytes.n == 0)
		input_backlog_clear(h);
}

void input_backlog_clear(struct input_backlog *h)
{
	free(h->memory);
	*h = (struct input_backlog){ 0 };
}

/* --- the PROXY header ------------------------------------------------------------------------- */

static bool stream_handshake_refuse(struct stream_conn *c, const struct err *err)
{
	COUNT(proxy_refused, 1);
	err_log(err, &c->session.http.peer);
	session_kill(&c->session);
	return false;
}

/* Receives up to n bytes into the shared buffer, after the held part of the header. */
static ssize_t receive(struct stream_conn *c, size_t n, int flags)
{
	return TEMP_FAILURE_RETRY(
		recv(c->transport->fd, c->env->input + c->held.bytes.n, n, flags));
}

/* Reads the peeked bytes again, as far as they are of the header. */
static bool stream_handshake_take(struct stream_conn *c, size_t n)
{
	if (receive(c, n, MSG_WAITALL) == (ssize_t)n)
		return true;
	session_kill(&c->session);
	return false;
}

/*
 * From here on the connection is the client's: other addresses in its requests count only if the
 * client is a trusted proxy itself.
 */
static void stream_handshake_settle(struct stream_conn *c, const struct proxy *p)
{
	struct http_conn *http = &c->session.http;

	stream_clear(c, STREAM_PROXY);
	if (p->source == PROXY_LOCAL)
		return;
	http->trusted = false;
	if (p->tls && http->tls == HTTP_TLS_NONE)
		http->tls = HTTP_TLS_PROXYS;
	if (p->source == PROXY_UNKNOWN)
		return;
	log_debug("connection %s: PROXY header names %s", ADDR_HOST(&http->peer),
		ADDR_HOST(&p->client));
	http->peer = p->client;
	http->trusted = proxies_trust(&c->env->proto.env->sites->proxies, &p->client);
	if (http->admin)
		return;
	account_close(&http->account);
	http->account = account_open(c->session.all->accounts, &p->client);
}

/* n more bytes came after the held ones. True: more may come at once. */
static bool stream_handshake_look(struct stream_conn *c, size_t n)
{
	size_t held = c->held.bytes.n;
	struct proxy p;

	if (held > 0)
		memcpy(c->env->input, c->held.bytes.p, held);
	switch (proxy_parse(slice_of(c->env->input, held + n), &p)) {
	case PROXY_MORE:
		if (!stream_handshake_take(c, n))
			return false;
		if (input_backlog_add(&c->held, (char *)c->env->input + held, n) == 0)
			return true;
		session_kill(&c->session);
		return false;
	case PROXY_BAD:
		return stream_handshake_refuse(c, ERR_PROXY_HEADER);
	default:
		if (stream_handshake_take(c, p.length - held)) {
			input_backlog_clear(&c->held);
			stream_handshake_settle(c, &p);
		}
		return false;
	}
}

/* True: the header is read. False: more must come, or c is dead, because it has none, or its proxy
 * is not trusted. */
static bool take_proxy_header(struct stream_conn *c)
{
	ssize_t n;

	if (!c->session.http.trusted)
		return stream_handshake_refuse(c, ERR_PROXY_UNTRUSTED);
	do {
		n = receive(c, PROXY_MAX - c->held.bytes.n, MSG_PEEK);
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0 && c->held.bytes.n > 0)
			return stream_handshake_refuse(c, ERR_PROXY_HEADER);
		/* A peer without a byte has only checked that h2d listens. */
		if (n <= 0)
			session_kill(&c->session);
	} while (n > 0 && stream_handshake_look(c, (size_t)n));
	return !stream_is(c, STREAM_PROXY);
}

/* --- places for slow ones --------------------------------------------------------------------- */

enum {
	LEAST = 16, /* of a client, whatever the others have */
	PART = 1,   /* and half of the rest */
	FRESH_MS = 1000,
	PER_CALL = 64, /* keeps a turn of the loop short */
};

void handshakes_init(struct handshakes *h, unsigned max)
{
	budget_init(&h->budget, ACCOUNT_HANDSHAKES, max, LEAST, PART);
	list_init(&h->fresh);
	list_init(&h->slow);
}

static struct stream_conn *oldest(const struct list *l)
{
	return LIST_ENTRY(l->next, struct stream_conn, shaking);
}

static void handshakes_refuse(struct stream_conn *c)
{
	err_log(ERR_HANDSHAKES, &c->session.http.peer);
	session_kill(&c->session);
}

/* True: its second is over, and h2d does not delay it. */
static bool is_slow(const struct stream_conn *c)
{
	int unread = 0;

	return clock_ms() - c->session.opened_ms >= FRESH_MS &&
	       ioctl(c->transport->fd, FIONREAD, &unread) == 0 && unread == 0;
}

static void take_place(struct handshakes *h, struct stream_conn *c)
{
	if (h->budget.held >= h->budget.max)
		handshakes_refuse(oldest(&h->slow));
	if (budget_room(&h->budget, c->session.http.account) == 0) {
		handshakes_refuse(c);
		return;
	}
	budget_take(&h->budget, c->session.http.account, 1);
	stream_set(c, STREAM_SLOW);
	list_remove(&c->shaking);
	list_append(&h->slow, &c->shaking);
}

void handshakes_go(struct stream_conn *c)
{
	struct handshakes *h = &c->env->handshakes;

	if (c->session.http.tls != HTTP_TLS_OURS || c->session.http.admin ||
		list_linked(&c->shaking))
		return;
	for (int i = 0; i < PER_CALL && !list_empty(&h->fresh) && is_slow(oldest(&h->fresh)); i++)
		take_place(h, oldest(&h->fresh));
	list_append(&h->fresh, &c->shaking);
}

void handshakes_end(struct stream_conn *c)
{
	if (!list_linked(&c->shaking))
		return;
	list_remove(&c->shaking);
	if (!stream_is(c, STREAM_SLOW))
		return;
	stream_clear(c, STREAM_SLOW);
	budget_give(&c->env->handshakes.budget, c->session.http.account, 1);
}

/* --- the handshake ---------------------------------------------------------------------------- */

/*
 * Replaces TLS by a cleartext transport, over the same descriptor: no byte was sent yet. Returns
 * the number of the client's bytes in env->input. 0: another protocol, or memory is out.
 */
static size_t turn_to_cleartext(struct stream_conn *c)
{
	struct slice said = c->transport->said;
	struct transport *tcp;

	if (said.n == 0 || said.n > STREAM_INPUT)
		return 0;
	tcp = tcp_open(c->transport->fd);
	if (tcp == NULL)
		return 0;
	memcpy(c->env->input, said.p, said.n);
	c->transport->fd = -1;
	c->transport->ops->close(&c->transport);
	c->transport = tcp;
	c->session.http.tls = HTTP_TLS_MISSED;
	return said.n;
}

/* Asks once, when the client is known. False: c is dead. */
static bool admit(struct stream_conn *c)
{
	if (!stream_is(c, STREAM_NEW))
		return true;
	stream_clear(c, STREAM_NEW);
	if (admission_ask(&c->session, c->env->proto.env))
		return true;
	session_kill(&c->session);
	return false;
}

bool stream_handshake(struct stream_conn *c, size_t *said)
{
	struct http_conn *http = &c->session.http;
	int rv;

	*said = 0;
	if (stream_is(c, STREAM_PROXY) && !take_proxy_header(c))
		return false;
	if (!admit(c))
		return false;
	handshakes_go(c);
	rv = c->transport->ops->handshake(c->transport);
	if (rv == -EAGAIN) {
		/* The last bytes and the end came in one event: no other follows. */
		if (stream_is(c, STREAM_HANGUP))
			loop_ready(c->session.all->loop, &c->again);
		return false;
	}
	handshakes_end(c);
	if (rv < 0) {
		COUNT(handshake_failures, 1);
		*said = turn_to_cleartext(c);
		if (*said == 0) {
			session_kill(&c->session);
			return false;
		}
	}
	if (http->tls == HTTP_TLS_OURS)
		OBSERVE(handshake_us, (int64_t)(clock_read_us() - c->opened_us));
	http->certificate = c->transport->certificate;
	http->tls_version = c->transport->tls_version;
	http->tls_cipher = c->transport->tls_cipher;
	http->client_ca = c->transport->client_ca;
	http->client_subject = c->transport->client_subject;
	http->client_refused = c->transport->client_refused;
	/* The requests get this answer, unless they go to another server block. */
	if (http->client_refused != NULL) {
		COUNT(client_certificates_refused, 1);
		log_peer(LEVEL_INFO, "connection %s: client certificate refused: %s",
			ADDR_HOST(&http->peer), http->client_refused);
	}
	return true;
}
