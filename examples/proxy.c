/*
 * proxy: /proxy/… is asked of the server that the key upstream names, over HTTP/1.1: bodies go both
 * ways as they come, and whoever is slow holds the other back. Each worker keeps connections for
 * the requests to come (proxy_link.c). An example, no product: one upstream, without TLS.
 */
#define _GNU_SOURCE
#include "proxy_link.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { HEAD = 16384, PIECE = 65536, OUT = HEAD + PIECE + 32, IN = 16384, FIELDS = 128 };

/* What comes next of the response. */
enum part { STATUS, LENGTH, TO_END, SIZE, CHUNK, CHUNK_END, TRAILERS, ALL };

struct exchange {
	struct h2d_req *req;
	struct proxy_link *link; /* NULL: none, or done with it */
	struct h2d_timer *timer; /* set while the upstream is waited for */
	enum part part;
	uint64_t left; /* bytes of the content, or of its chunk */
	bool chunked;  /* the request's body is */
	bool asked;    /* all of the request is in out, or sent */
	bool later;    /* the response is waited for */
	bool keep;     /* the connection outlives the response */
	bool failed;
	size_t owed; /* credit of the body in out */
	size_t head; /* bytes of out, for another try */
	size_t sent, nout, nin;
	char out[OUT], in[IN];
};

static void on_change(void *arg, unsigned changes);

/* Back to those that are idle, if nothing of this request is left on it. */
static void leave(struct exchange *x, bool whole)
{
	if (x->link != NULL)
		proxy_link_put(
			x->link, whole && x->keep && x->asked && x->nout == 0 && x->nin == 0);
	x->link = NULL;
}

/* The request has no answer any more from the upstream. */
static void fail(struct exchange *x, int status)
{
	leave(x, false);
	h2d_timer_stop(x->timer);
	x->failed = true;
	if (x->part == STATUS)
		h2d_reply_error(x->req, status);
	else
		h2d_resume(x->req);
}

/* The upstream has its time from now on, while it is what is waited for, and not the client. */
static void wait_for_it(struct exchange *x)
{
	if (x->nout > 0 || (x->asked && x->later))
		h2d_timer_set(x->timer, 1000 * h2d_conf_number(h2d_req_worker(x->req), "timeout"));
	else
		h2d_timer_stop(x->timer);
}

static void on_timeout(struct h2d_req *req, void *state)
{
	(void)req;
	fail(state, 504);
}

/* --- the request ------------------------------------------------------------------------------ */

/* What is sent gives its credit back, and lets the body go on. */
static void send_out(struct exchange *x)
{
	while (x->link != NULL && x->sent < x->nout) {
		ssize_t n = send(
			proxy_link_fd(x->link), x->out + x->sent, x->nout - x->sent, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
			wait_for_it(x);
			return;
		}
		if (n < 0) /* it may have answered all the same */
			break;
		x->sent += (size_t)n;
	}
	x->sent = x->nout = 0;
	wait_for_it(x);
	if (x->owed > 0)
		h2d_consume(x->req, x->owed);
	x->owed = 0;
	h2d_body_resume(x->req);
}

static __attribute__((format(printf, 2, 3))) void put(struct exchange *x, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(x->out + x->nout, OUT - x->nout, format, ap);
	va_end(ap);
	x->nout = (size_t)n < OUT - x->nout ? x->nout + (size_t)n : OUT;
}

/* What is of one connection alone, or said anew (RFC 9110, 7.6.1). */
static bool is_hop(const char *name, const char *connection)
{
	static const char *const names[] = { "connection", "content-length", "expect", "host",
		"keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
		"x-forwarded-for", "x-forwarded-proto" };
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	for (const char *at = connection; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
		at += strspn(at, ", \t");
		if (strncasecmp(at, name, n) == 0 && strchr(", \t", at[n]) != NULL)
			return true;
	}
	return false;
}

static void put_path(struct exchange *x)
{
	static const char plain[] = "-._~!$&'()*+,;=:@/";
	size_t n, nquery;
	const char *path = h2d_req_path(x->req, &n), *query = h2d_req_query(x->req, &nquery);

	for (size_t i = strlen("/proxy"); i < n; i++)
		if ((path[i] | 32) >= 'a' && (path[i] | 32) <= 'z')
			put(x, "%c", path[i]);
		else if ((path[i] >= '0' && path[i] <= '9') ||
			 memchr(plain, path[i], sizeof(plain) - 1))
			put(x, "%c", path[i]);
		else
			put(x, "%%%02X", (unsigned char)path[i]);
	if (nquery > 0)
		put(x, "?%.*s", (int)nquery, query);
}

/* False: it is too long. */
static bool put_head(struct exchange *x, int64_t length)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS",
		"PATCH" };
	struct h2d_req *req = x->req;
	const char *name, *value, *host;
	size_t n, nhost, nname;
	char connection[256] = "";

	for (unsigned i = 0; (value = h2d_req_header_nth(req, "connection", i, &n)) != NULL; i++) {
		size_t used = strlen(connection);

		if (n + 2 > sizeof(connection) - used) /* what it names must not go on unknown */
			return false;
		snprintf(connection + used, sizeof(connection) - used, ",%.*s", (int)n, value);
	}
	put(x, "%s ", methods[h2d_req_method(req)]);
	put_path(x);
	host = h2d_req_authority(req, &nhost);
	put(x, " HTTP/1.1\r\nhost: %.*s\r\n", (int)nhost, nhost > 0 ? host : "");
	for (unsigned i = 0; (value = h2d_req_header_at(req, i, &name, &nname, &n)) != NULL; i++) {
		char copy[128];

		snprintf(copy, sizeof(copy), "%.*s", (int)nname, name);
		if (nname < sizeof(copy) && !is_hop(copy, connection))
			put(x, "%s: %.*s\r\n", copy, (int)n, value);
	}
	value = h2d_req_peer(req, NULL);
	put(x, "x-forwarded-for: %s\r\nx-forwarded-proto: %s\r\n",
		value != NULL ? value : "unknown", h2d_req_scheme(req));
	if (x->chunked)
		put(x, "transfer-encoding: chunked\r\n");
	else if (length > 0 || h2d_req_method(req) >= H2D_POST)
		put(x, "content-length: %lld\r\n", (long long)length);
	put(x, "\r\n");
	x->head = x->nout;
	return x->nout <= HEAD;
}

static void start(struct h2d_req *req, void *state)
{
	struct exchange *x = state;
	int64_t length = h2d_req_length(req);

	x->req = req;
	x->chunked = length < 0;
	x->asked = length == 0;
	x->later = true;
	x->timer = h2d_timer_new(req, on_timeout);
	if (x->timer == NULL)
		h2d_reply_error(req, 503);
	else if (!put_head(x, length))
		h2d_reply_error(req, 431);
	else if ((x->link = proxy_link_get(h2d_req_worker(req), on_change, x, false)) == NULL)
		h2d_reply_error(req, 502);
	else
		send_out(x);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct exchange *x = state;

	if (!x->failed && len > PIECE) /* no piece of this server is */
		fail(x, 500);
	if (x->failed) {
		h2d_consume(req, len);
		return;
	}
	h2d_body_pause(req);
	if (x->chunked)
		put(x, "%zx\r\n", len);
	memcpy(x->out + x->nout, data, len);
	x->nout += len;
	x->owed += len;
	if (x->chunked)
		put(x, "\r\n");
	send_out(x);
}

static void end(struct h2d_req *req, void *state)
{
	struct exchange *x = state;

	(void)req;
	x->asked = true;
	if (x->chunked)
		put(x, "0\r\n\r\n");
	if (!x->failed)
		send_out(x);
}

/* --- the response ----------------------------------------------------------------------------- */

static void drop(struct exchange *x, size_t n)
{
	memmove(x->in, x->in + n, x->nin - n);
	x->nin -= n;
}

/* 1: there is more, 0: not now, -1: the upstream has come to its end, -2: it is lost. */
static int receive(struct exchange *x)
{
	ssize_t n;

	if (x->nin == IN)
		return 1;
	n = recv(proxy_link_fd(x->link), x->in + x->nin, IN - x->nin, 0);
	if (n > 0) {
		x->nin += (size_t)n;
		return 1;
	}
	if (n == 0)
		return -1;
	return errno == EAGAIN || errno == ENOTCONN ? 0 : -2;
}

/* UINT64_MAX: no number, or another one than the field before has, and so no response (RFC
 * 9112, 6.3). */
static uint64_t read_length(const char *value, bool again, uint64_t before)
{
	char *digits_end;
	uint64_t n = strtoull(value, &digits_end, 10);

	if (!isdigit((unsigned char)value[0]) || digits_end[strspn(digits_end, " \t")] != '\0')
		return UINT64_MAX;
	return again && n != before ? UINT64_MAX : n;
}

static void take_field(
	struct exchange *x, const char *name, const char *value, const char *connection)
{
	char lower[128];
	size_t n = 0;

	if (strcasecmp(name, "content-length") == 0 && x->part != SIZE) {
		x->left = read_length(value, x->part == LENGTH, x->left);
		x->part = LENGTH;
	} else if (strcasecmp(name, "transfer-encoding") == 0) {
		x->part = SIZE;
	}
	if (is_hop(name, connection) || strlen(name) >= sizeof(lower))
		return;
	for (; name[n] != '\0'; n++)
		lower[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] | 32 : name[n]);
	lower[n] = '\0';
	h2d_reply_header(x->req, lower, value);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap);

static void reply(struct exchange *x, int status)
{
	bool sized = x->part == LENGTH;

	if (status == 204 || status == 304 || h2d_req_method(x->req) == H2D_HEAD) {
		x->part = ALL;
		h2d_timer_stop(x->timer);
	}
	if (sized)
		h2d_reply_stream_sized(x->req, status, NULL, x->left, fill);
	else
		h2d_reply_stream(x->req, status, NULL, fill);
}

/* The head of n bytes, and a blank line, is there. False: it is none. */
static bool take_head(struct exchange *x, char *head)
{
	char *rest, *line = strtok_r(head, "\r\n", &rest), *fields[FIELDS], *name;
	char connection[256] = "";
	unsigned n = 0;
	int status;

	if (line == NULL || strncmp(line, "HTTP/1.", 7) != 0 || strlen(line) < 12)
		return false;
	status = atoi(line + 9);
	x->keep = line[7] == '1';
	if (status < 200) /* it goes on to the final one */
		return status >= 100 && status != 101;
	if (status > 599)
		return false;
	while ((name = strtok_r(NULL, "\r\n", &rest)) != NULL && n < FIELDS) {
		char *value = strchr(name, ':');

		if (value == NULL)
			return false;
		*value++ = '\0';
		fields[n++] = name;
		if (strcasecmp(name, "connection") == 0)
			snprintf(connection, sizeof(connection), "%s", value);
	}
	if (strcasestr(connection, "close") != NULL)
		x->keep = false;
	x->part = TO_END;
	for (unsigned i = 0; i < n; i++) {
		char *value = fields[i] + strlen(fields[i]) + 1;

		take_field(x, fields[i], value + strspn(value, " \t"), connection);
	}
	if (x->part == LENGTH && x->left > INT64_MAX) {
		x->part = STATUS;
		return false;
	}
	reply(x, status);
	return true;
}

static void read_head(struct exchange *x)
{
	int more = receive(x);

	while (more > 0 && x->part == STATUS) {
		char *blank = memmem(x->in, x->nin, "\r\n\r\n", 4), head[IN];
		size_t n = blank != NULL ? (size_t)(blank - x->in) : 0;

		if (blank == NULL && x->nin == IN) {
			more = -1;
		} else if (blank == NULL) {
			more = receive(x);
		} else {
			memcpy(head, x->in, n);
			head[n] = '\0';
			drop(x, n + 4);
			more = take_head(x, head) ? 1 : -1;
		}
	}
	if (more >= 0)
		return;
	/* A connection that was idle may have had its end on the way, and nobody did anything. */
	if (proxy_link_used(x->link) && x->nin == 0 && h2d_req_method(x->req) <= H2D_HEAD &&
		x->asked && h2d_req_length(x->req) == 0) {
		leave(x, false);
		x->sent = 0;
		x->nout = x->head;
		x->link = proxy_link_get(h2d_req_worker(x->req), on_change, x, true);
		if (x->link != NULL) {
			send_out(x);
			return;
		}
	}
	fail(x, 502);
}

/* The framing between two chunks. False: there is none. */
static bool take_size(struct exchange *x)
{
	char *line = memmem(x->in, x->nin, "\r\n", 2), *digits_end;
	size_t n = line != NULL ? (size_t)(line - x->in) : 0;

	if (line == NULL)
		return x->nin < 1000;
	if (x->part == CHUNK_END) {
		x->part = SIZE;
		drop(x, n + 2);
		return n == 0;
	}
	if (x->part == TRAILERS) {
		x->part = n == 0 ? ALL : TRAILERS;
	} else {
		x->left = strtoull(x->in, &digits_end, 16);
		x->part = x->left > 0 ? CHUNK : TRAILERS;
		if (!isxdigit((unsigned char)x->in[0]) || strchr("; \t\r", *digits_end) == NULL ||
			x->left > INT64_MAX)
			return false;
	}
	drop(x, n + 2);
	return true;
}

/* What of the bytes in memory is content. -1: what came is no response. */
static ssize_t take_content(struct exchange *x, char *buf, size_t cap)
{
	size_t n, before;

	do {
		before = x->nin;
		if (x->part >= SIZE && x->part != CHUNK && x->part != ALL && !take_size(x))
			return -1;
	} while (x->nin != before);
	n = x->nin < cap ? x->nin : cap;
	if (x->part == SIZE || x->part == CHUNK_END || x->part == TRAILERS || x->part == ALL)
		return 0;
	if (x->part != TO_END && n > x->left)
		n = (size_t)x->left;
	memcpy(buf, x->in, n);
	drop(x, n);
	x->left -= x->part != TO_END ? n : 0;
	if (x->left == 0 && x->part != TO_END && n > 0)
		x->part = x->part == LENGTH ? ALL : CHUNK_END;
	return (ssize_t)n;
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct exchange *x = state;
	int more = 1;

	(void)req;
	if (x->part == LENGTH && x->left == 0)
		x->part = ALL;
	while (!x->failed && more > 0) {
		ssize_t n = take_content(x, buf, cap);

		if (n > 0) {
			x->later = false;
			wait_for_it(x);
			return n;
		}
		if (x->part == ALL) {
			h2d_timer_stop(x->timer);
			leave(x, true);
			return 0;
		}
		more = n < 0 ? -2 : receive(x);
	}
	if (!x->failed && more == 0) {
		x->later = true;
		wait_for_it(x);
		return H2D_LATER;
	}
	x->failed = true;
	leave(x, false);
	return x->part == TO_END && more == -1 ? 0 : H2D_FAIL;
}

static void on_change(void *arg, unsigned changes)
{
	struct exchange *x = arg;

	if (changes & H2D_WRITABLE && x->nout > 0)
		send_out(x);
	if (x->part == STATUS)
		read_head(x);
	else
		h2d_resume(x->req);
}

static void gone(struct h2d_req *req, void *state)
{
	struct exchange *x = state;

	(void)req;
	leave(x, x->part == ALL);
}

const struct h2d_handler h2d_handler_proxy = {
	.name = "proxy",
	.state_size = sizeof(struct exchange),
	.duplex = true,
	.start = start,
	.body = body,
	.end = end,
	.gone = gone,
	.worker_init = proxy_links_init,
	.worker_exit = proxy_links_exit,
};
