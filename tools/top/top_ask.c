/*
 * top_ask: one connection per request, then closed, so that a reload never waits for it. A server
 * without an answer is given up after some seconds.
 */
#include "tools/top/top_ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

enum { PATIENCE_MS = 5000, ANSWER_MAX = 64 << 20 };

void top_ask_init(struct top_ask *a, const struct top_source *source)
{
	*a = (struct top_ask){ .source = source, .fd = -1 };
}

static void top_ask_end(struct top_ask *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	strbuf_fini(&a->answer);
}

static enum top_asked top_ask_fail(struct top_ask *a, char *error, const char *why)
{
	snprintf(error, TOP_ERROR, "%s: %s", a->source->text, why);
	top_ask_end(a);
	return TOP_FAILED;
}

/* --- the connection --------------------------------------------------------------------------- */

/* 0: under way; else -1 with errno. */
static int dial(struct top_ask *a, int family, const struct sockaddr *sa, socklen_t len)
{
	int error;

	a->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return -1;
	if (connect(a->fd, sa, len) == 0 || errno == EINPROGRESS)
		return 0;
	error = errno;
	top_ask_end(a);
	errno = error;
	return -1;
}

static enum top_asked dial_unix(struct top_ask *a, char *error)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	memcpy(un.sun_path, a->source->path, strnlen(a->source->path, sizeof(un.sun_path) - 1));
	if (dial(a, AF_UNIX, (const struct sockaddr *)&un, sizeof(un)) == 0)
		return TOP_ASKING;
	return top_ask_fail(a, error, strerror(errno));
}

/* Begins a connection to the next usable address of the host; why: of the one before. */
static enum top_asked dial_next(struct top_ask *a, int why, char *error)
{
	while (a->next != NULL) {
		const struct addrinfo *to = a->next;

		a->next = to->ai_next;
		if (dial(a, to->ai_family, to->ai_addr, to->ai_addrlen) == 0)
			return TOP_ASKING;
		why = errno;
	}
	/* The host may have moved. */
	freeaddrinfo(a->found);
	a->found = NULL;
	return top_ask_fail(a, error, strerror(why));
}

static enum top_asked dial_host(struct top_ask *a, char *error)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	int rc;

	if (a->found == NULL) {
		rc = getaddrinfo(a->source->host, a->source->port, &want, &a->found);
		if (rc != 0)
			return top_ask_fail(a, error, gai_strerror(rc));
	}
	a->next = a->found;
	return dial_next(a, EHOSTUNREACH, error);
}

enum top_asked top_ask_begin(struct top_ask *a, char error[TOP_ERROR])
{
	a->connected = false;
	a->until_ms = clock_now_ms() + PATIENCE_MS;
	return a->source->path[0] != '\0' ? dial_unix(a, error) : dial_host(a, error);
}

struct pollfd top_ask_poll(const struct top_ask *a)
{
	return (struct pollfd){ .fd = a->fd, .events = a->connected ? POLLIN : POLLOUT };
}

/* --- question and answer ---------------------------------------------------------------------- */

/* The buffer of a new socket has room for it. */
static int top_ask_ask(int fd)
{
	static const char text[] = "GET /status.json HTTP/1.1\r\nhost: localhost\r\n"
				   "user-agent: h2d-top\r\naccept: application/json\r\n"
				   "connection: close\r\n\r\n";

	return send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) == sizeof(text) - 1 ? 0 : -1;
}

/* A head, "HTTP/1.1 200 OK" and fields (RFC 9112, 4), matters by its status and its end alone: the
 * server closes the connection, and the reader of the content checks that it is complete. */
static enum top_asked take_content(struct top_ask *a, struct strbuf *body, char *error)
{
	const struct strbuf *t = &a->answer;
	const char *head_end = t->n > 12 ? memmem(t->p, t->n, "\r\n\r\n", 4) : NULL;
	char why[64];

	if (head_end == NULL || strncmp(t->p, "HTTP/1.1 ", 9) != 0)
		return top_ask_fail(a, error, "not an HTTP server");
	if (strncmp(t->p + 9, "200", 3) != 0) {
		snprintf(why, sizeof(why), "status %.3s: is this an admin listener of h2d?",
			t->p + 9);
		return top_ask_fail(a, error, why);
	}
	head_end += 4;
	strbuf_add(body, slice_of(head_end, t->n - (size_t)(head_end - t->p)));
	if (body->failed)
		return top_ask_fail(a, error, strerror(ENOMEM));
	top_ask_end(a);
	return TOP_ANSWERED;
}

/* Reads up to the end of the connection. */
static enum top_asked read_some(struct top_ask *a, struct strbuf *body, char *error)
{
	char buf[16384];
	ssize_t n;

	while ((n = recv(a->fd, buf, sizeof(buf), 0)) > 0) {
		strbuf_add(&a->answer, slice_of(buf, (size_t)n));
		if (a->answer.failed || a->answer.n > ANSWER_MAX)
			return top_ask_fail(a, error, strerror(EMSGSIZE));
	}
	if (n == 0)
		return take_content(a, body, error);
	if (errno == EAGAIN || errno == EINTR)
		return TOP_ASKING;
	return top_ask_fail(a, error, strerror(errno));
}

static enum top_asked connected(struct top_ask *a, char *error)
{
	int why = 0;
	socklen_t len = sizeof(why);

	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
		why = errno;
	if (why != 0) {
		top_ask_end(a);
		return a->found != NULL ? dial_next(a, why, error)
					: top_ask_fail(a, error, strerror(why));
	}
	if (top_ask_ask(a->fd) < 0)
		return top_ask_fail(a, error, strerror(errno));
	a->connected = true;
	return TOP_ASKING;
}

enum top_asked top_ask_go(struct top_ask *a, struct strbuf *body, char error[TOP_ERROR])
{
	struct pollfd ready = top_ask_poll(a);

	if (clock_now_ms() >= a->until_ms)
		return top_ask_fail(a, error, strerror(ETIMEDOUT));
	if (poll(&ready, 1, 0) <= 0)
		return TOP_ASKING;
	return a->connected ? read_some(a, body, error) : connected(a, error);
}

void top_ask_fini(struct top_ask *a)
{
	top_ask_end(a);
	if (a->found != NULL)
		freeaddrinfo(a->found);
	a->found = NULL;
}
