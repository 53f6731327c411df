/*
 * t_topic: GET /t/topic/{name} is a line for each message of the topic, until "end" comes; POST
 * /t/topic/{name}?MESSAGE sends one. Messages that were lost are the line "lost".
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 1 << 16 };

struct listener {
	size_t n, sent;
	bool end;
	char lines[ROOM];
};

static void on_message(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct listener *l = state;

	if (data == NULL) {
		data = "lost";
		len = 4;
	}
	if (l->n + len + 1 < ROOM) {
		memcpy(l->lines + l->n, data, len);
		l->n += len;
		l->lines[l->n++] = '\n';
	}
	l->end = len == 3 && memcmp(data, "end", 3) == 0;
	h2d_resume(req);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct listener *l = state;
	size_t n = l->n - l->sent < cap ? l->n - l->sent : cap;

	(void)req;
	if (n == 0)
		return l->end ? 0 : H2D_LATER;
	memcpy(buf, l->lines + l->sent, n);
	l->sent += n;
	return (ssize_t)n;
}

static void start(struct h2d_req *req, void *state)
{
	struct listener *l = state;
	char topic[64], line[64];
	size_t len;
	const char *p = h2d_req_param(req, "name", &len);

	snprintf(topic, sizeof(topic), "%.*s", (int)len, p);
	p = h2d_req_query(req, &len);
	if (h2d_req_method(req) == H2D_POST) {
		h2d_reply_bytes(req,
			h2d_publish(h2d_req_worker(req), topic, p, len) == 0 ? 202 : 503, NULL,
			NULL, 0);
		return;
	}
	if (h2d_subscribe(req, topic, on_message) < 0) {
		h2d_reply_error(req, 503);
		return;
	}
	/* Says that it listens. */
	l->n = (size_t)snprintf(line, sizeof(line), "%s\n", topic);
	memcpy(l->lines, line, l->n);
	h2d_reply_stream(req, 200, "text/plain; charset=utf-8", fill);
}

const struct h2d_handler h2d_handler_t_topic = {
	.name = "t_topic",
	.state_size = sizeof(struct listener),
	.start = start,
};
