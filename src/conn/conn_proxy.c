/*
 * conn_proxy: looks at what has come without taking it (MSG_PEEK), then takes what is of the header
 * and nothing else: what follows may be TLS, which reads the socket itself. conn/conn.c calls it
 * in each turn until the header is whole; the timeout of the handshake bounds that.
 */
#include "conn/conn_proxy.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/counters.h"
#include "base/log.h"
#include "net/proxy.h"
#include "request/account.h"

static bool refuse(struct conn *c, const struct err *err)
{
	COUNT(proxy_refused, 1);
	err_log(err, &c->http.peer);
	conn_kill(c);
	return false;
}

/* Up to n bytes into the buffer that all connections share, behind what is held of the header. */
static ssize_t receive(struct conn *c, size_t n, int flags)
{
	ssize_t got;

	do
		got = recv(c->transport->fd, c->env->input + c->held.bytes.n, n, flags);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Reads again what was looked at, as far as it is of the header. */
static bool take(struct conn *c, size_t n)
{
	if (receive(c, n, MSG_WAITALL) == (ssize_t)n)
		return true;
	conn_kill(c);
	return false;
}

/*
 * From here on the connection is the client's: what its requests say of other addresses is believed
 * only if the client is a trusted proxy itself.
 */
static void settle(struct conn *c, const struct proxy *p)
{
	struct http_conn *http = &c->http;

	http->proxy_awaited = false;
	if (p->source == PROXY_LOCAL)
		return;
	http->trusted = false;
	http->client_tls = p->tls;
	if (p->source == PROXY_UNKNOWN)
		return;
	log_debug("connection %s: passed on for %s", ADDR_HOST(&http->peer), ADDR_HOST(&p->client));
	http->peer = p->client;
	http->trusted = proxies_trust(&c->env->proto.env->sites->proxies, &p->client);
	if (http->admin)
		return;
	account_close(&http->account);
	http->account = account_open(c->env->proto.env->accounts, &p->client);
}

/* n more bytes are there, behind what is held. True: more may be, at once. */
static bool look(struct conn *c, size_t n)
{
	size_t held = c->held.bytes.n;
	struct proxy p;

	if (held > 0)
		memcpy(c->env->input, c->held.bytes.p, held);
	switch (proxy_parse(slice_of(c->env->input, held + n), &p)) {
	case PROXY_MORE:
		if (!take(c, n))
			return false;
		if (input_backlog_add(&c->held, (char *)c->env->input + held, n) == 0)
			return true;
		conn_kill(c);
		return false;
	case PROXY_BAD:
		return refuse(c, ERR_PROXY_HEADER);
	default:
		if (take(c, p.length - held)) {
			input_backlog_clear(&c->held);
			settle(c, &p);
		}
		return false;
	}
}

bool conn_proxy_take(struct conn *c)
{
	ssize_t n;

	if (!c->http.trusted)
		return refuse(c, ERR_PROXY_UNTRUSTED);
	do {
		n = receive(c, PROXY_MAX - c->held.bytes.n, MSG_PEEK);
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0 && c->held.bytes.n > 0)
			return refuse(c, ERR_PROXY_HEADER);
		/* A peer that says nothing has only looked whether h2d listens. */
		if (n <= 0)
			conn_kill(c);
	} while (n > 0 && look(c, (size_t)n));
	return !c->http.proxy_awaited;
}
