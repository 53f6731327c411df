/*
 * later: two handlers that answer later. GET /later/MS answers after that many milliseconds, from a
 * timer. GET /resolve/HOST has a thread ask the resolver, which may take seconds, and answers with
 * the addresses of HOST when it is done; other requests go on meanwhile. It takes sandbox { network
 * = true }, for workers make no connections else.
 */
#include "h2d/handler.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- from a timer ----------------------------------------------------------------------------- */

enum { MS_MAX = 600000 };

static void time_is_up(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_text(req, 200, "now\n");
}

static void later_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *text = h2d_req_param(req, "ms", &len);
	struct h2d_timer *timer;
	unsigned long ms;
	char *end;

	(void)state;
	ms = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || end != text + len || ms > MS_MAX) {
		h2d_reply_error(req, 404);
		return;
	}
	timer = h2d_timer_new(req, time_is_up);
	if (timer == NULL)
		h2d_reply_error(req, 503);
	else
		h2d_timer_set(timer, ms);
}

const struct h2d_handler h2d_handler_later = {
	.name = "later",
	.start = later_start,
};

/* --- from a thread ---------------------------------------------------------------------------- */

/* The thread's: neither the request nor its memory. */
struct question {
	char host[256];
	int rc;
	struct addrinfo *found;
};

static void ask(void *job)
{
	struct question *q = job;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

	q->rc = getaddrinfo(q->host, NULL, &hints, &q->found);
}

static void reply_list(struct h2d_req *req, const struct addrinfo *found)
{
	char list[1024] = "", one[NI_MAXHOST];
	size_t n = 0;

	for (; found != NULL && n < sizeof(list) - sizeof(one) / 4; found = found->ai_next)
		if (getnameinfo(found->ai_addr, found->ai_addrlen, one, sizeof(one), NULL, 0,
			    NI_NUMERICHOST) == 0 &&
			strlen(one) < sizeof(list) - 1 - n)
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s\n", one);
	h2d_reply_text(req, 200, list);
}

static void answered(struct h2d_req *req, void *state, void *job)
{
	struct question *q = job;

	(void)state;
	/* Without a request there is nobody to tell. */
	if (req != NULL && q->rc != 0)
		h2d_reply_error(req, 404);
	else if (req != NULL)
		reply_list(req, q->found);
	if (q->found != NULL)
		freeaddrinfo(q->found);
	free(q);
}

static void resolve_start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *host = h2d_req_param(req, "host", &len);
	struct question *q = calloc(1, sizeof(*q));

	(void)state;
	if (len < sizeof(q->host) && q != NULL) {
		memcpy(q->host, host, len);
		if (h2d_work(req, ask, answered, q) == 0)
			return;
	}
	free(q);
	h2d_reply_error(req, 503);
}

const struct h2d_handler h2d_handler_resolve = {
	.name = "resolve",
	.start = resolve_start,
};
