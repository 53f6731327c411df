/*
 * top_ask: one connection per question, closed by its end, so that a reload never waits for it. A
 * server that does not answer is given up after some seconds.
 */
#include "top/top_ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_S = 5, ANSWER_MAX = 64 << 20 };

static int fail(const struct top_source *s, char *error, const char *why)
{
	snprintf(error, TOP_ERROR, "%s: %s", s->text, why);
	return -1;
}

/* --- the connection --------------------------------------------------------------------------- */

/* -1 with errno. */
static int dial(int family, const struct sockaddr *sa, socklen_t len)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
		connect(fd, sa, len) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error == EINPROGRESS ? ETIMEDOUT : error;
	return -1;
}

static int dial_unix(const struct top_source *s, char *error)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	memcpy(un.sun_path, s->path, strnlen(s->path, sizeof(un.sun_path) - 1));
	fd = dial(AF_UNIX, (const struct sockaddr *)&un, sizeof(un));
	return fd >= 0 ? fd : fail(s, error, strerror(errno));
}

/* The first of the host's addresses that is connected to. */
static int dial_host(const struct top_source *s, char *error)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int rc = getaddrinfo(s->host, s->port, &want, &found), fd = -1;

	if (rc != 0)
		return fail(s, error, gai_strerror(rc));
	for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next)
		fd = dial(a->ai_family, a->ai_addr, a->ai_addrlen);
	rc = errno;
	freeaddrinfo(found);
	return fd >= 0 ? fd : fail(s, error, strerror(rc));
}

/* --- question and answer ---------------------------------------------------------------------- */

static int send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int ask(int fd)
{
	static const char text[] = "GET /status.json HTTP/1.1\r\nhost: localhost\r\n"
				   "user-agent: h2d-top\r\naccept: application/json\r\n"
				   "connection: close\r\n\r\n";

	return send_all(fd, text, sizeof(text) - 1);
}

/* Everything up to the end of the connection. */
static int read_all(int fd, struct strbuf *t)
{
	char buf[16384];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno == EAGAIN)
				errno = ETIMEDOUT;
			return -1;
		}
		strbuf_add(t, slice_of(buf, (size_t)n));
		if (t->failed || t->n > ANSWER_MAX) {
			errno = EMSGSIZE;
			return -1;
		}
	}
	return 0;
}

/* A head, "HTTP/1.1 200 OK" and fields (RFC 9112, 4), matters by its status and its end alone: the
 * server says the length, and the reader of the content sees whether it is whole. */
static int take_content(
	const struct top_source *s, const struct strbuf *answer, struct strbuf *body, char *error)
{
	const char *end = answer->n > 12 ? memmem(answer->p, answer->n, "\r\n\r\n", 4) : NULL;
	char why[64];

	if (end == NULL || strncmp(answer->p, "HTTP/1.1 ", 9) != 0)
		return fail(s, error, "what answers is no HTTP server");
	if (strncmp(answer->p + 9, "200", 3) != 0) {
		snprintf(why, sizeof(why), "status %.3s: is this an admin listener of h2d?",
			answer->p + 9);
		return fail(s, error, why);
	}
	end += 4;
	strbuf_add(body, slice_of(end, answer->n - (size_t)(end - answer->p)));
	return body->failed ? fail(s, error, strerror(ENOMEM)) : 0;
}

int top_ask(const struct top_source *s, struct strbuf *body, char error[TOP_ERROR])
{
	struct strbuf answer = { 0 };
	int fd = s->path[0] != '\0' ? dial_unix(s, error) : dial_host(s, error), rc;

	if (fd < 0)
		return -1;
	if (ask(fd) < 0 || read_all(fd, &answer) < 0)
		rc = fail(s, error, strerror(errno));
	else
		rc = take_content(s, &answer, body, error);
	close(fd);
	strbuf_fini(&answer);
	return rc;
}
