/*
 * t_websocket: GET /t/websocket/{how} is a WebSocket that answers each message with the same one,
 * but for these texts: "close CODE REASON" closes it; "send N SIZE"
 * sends N messages of SIZE bytes, as there is room; "pause MS" takes no message for that long;
 * "protocol" asks which one was agreed on; "text" has it send what is none. how: "later", accepted
 * by a timer; "fields", with fields of its own; "wrong", answered with 200. Where none is asked for
 * it says how many came, are gone and were closed, and the code and reason of the last close.
 * /t/strict takes pages of two origins, speaks two subprotocols, and little of everything.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_SENT = 1 << 20, LATER_MS = 20 };

struct socket {
	struct h2d_timer *timer;
	unsigned long left, size; /* of what is sent as there is room */
	bool open;
};

static unsigned starts, gones, closes;
static char last[256] = "none";
static char many[SIZE_MAX_SENT];

static void say(struct h2d_req *req, const char *text)
{
	h2d_websocket_send(req, H2D_WS_TEXT, text, strlen(text));
}

static void send_some(struct h2d_req *req, void *state)
{
	struct socket *s = state;

	while (s->left > 0 && h2d_websocket_send(req, H2D_WS_BINARY, many, s->size) == 0)
		s->left--;
}

/* False: it is no command. */
static bool obey(struct h2d_req *req, struct socket *s, const char *text)
{
	unsigned long a, b;
	int at = 0;

	if (sscanf(text, "close %lu %n", &a, &at) == 1 && at > 0) {
		h2d_websocket_close(req, (int)a, text + at);
		h2d_websocket_close(req, 1000, "twice is once");
	} else if (sscanf(text, "send %lu %lu", &a, &b) == 2 && b <= SIZE_MAX_SENT) {
		s->left = a;
		s->size = b;
		send_some(req, s);
	} else if (sscanf(text, "pause %lu", &a) == 1) {
		h2d_websocket_pause(req);
		h2d_timer_set(s->timer, a);
	} else if (strcmp(text, "protocol") == 0) {
		say(req,
			h2d_websocket_protocol(req) != NULL ? h2d_websocket_protocol(req) : "none");
	} else if (strcmp(text, "waiting") == 0) {
		char told[64];
		size_t before = h2d_websocket_waiting(req);

		say(req, "x");
		snprintf(told, sizeof(told), "%zu %zu", before, h2d_websocket_waiting(req));
		say(req, told);
	} else if (strcmp(text, "text") == 0) {
		if (h2d_websocket_send(req, H2D_WS_TEXT, "\xc0\xaf", 2) < 0)
			say(req, "refused");
	} else {
		return false;
	}
	return true;
}

static void message(
	struct h2d_req *req, void *state, enum h2d_ws_kind kind, const char *data, size_t len)
{
	char text[64];

	if (kind == H2D_WS_TEXT && len < sizeof(text)) {
		memcpy(text, data, len);
		text[len] = '\0';
		if (obey(req, state, text))
			return;
	}
	if (h2d_websocket_send(req, kind, data, len) < 0)
		h2d_websocket_close(req, H2D_WS_FAILED, "no room");
}

static void closed(struct h2d_req *req, void *state, int code, const char *reason, size_t len)
{
	(void)state;
	closes++;
	snprintf(last, sizeof(last), "%d %.*s", code, (int)len, len > 0 ? reason : "");
	/* None of it is of any use any more, and does no harm. */
	h2d_websocket_pause(req);
	h2d_websocket_resume(req);
	h2d_websocket_close(req, 1000, NULL);
	if (h2d_websocket_send(req, H2D_WS_TEXT, "x", 1) == 0)
		abort();
}

static void accept(struct h2d_req *req, struct socket *s)
{
	s->open = h2d_accept_websocket(req) == 0;
}

static void on_timer(struct h2d_req *req, void *state)
{
	struct socket *s = state;

	if (!s->open)
		accept(req, s);
	else
		h2d_websocket_resume(req);
}

static void start(struct h2d_req *req, void *state)
{
	struct socket *s = state;
	const char *how = h2d_req_path(req, NULL);
	char text[512];
	int n;

	how = strrchr(how, '/') + 1;
	starts++;
	if (!h2d_websocket_wanted(req) && strcmp(how, "anyway") != 0) {
		n = snprintf(text, sizeof(text), "%u %u %u %s", starts, gones, closes, last);
		h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text, (size_t)n);
		return;
	}
	s->timer = h2d_timer_new(req, on_timer);
	if (s->timer == NULL) {
		h2d_reply_error(req, 503);
	} else if (strcmp(how, "later") == 0) {
		h2d_timer_set(s->timer, LATER_MS);
	} else if (strcmp(how, "wrong") == 0) {
		h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", "hello", 5);
	} else {
		if (strcmp(how, "fields") == 0)
			h2d_reply_header(req, "set-cookie", "a=b");
		accept(req, s);
	}
}

static void gone(struct h2d_req *req, void *state)
{
	(void)req, (void)state;
	gones++;
}

static const struct h2d_websocket echo = {
	.message = message,
	.room = send_some,
	.closed = closed,
};

const struct h2d_handler h2d_handler_t_websocket = {
	.name = "t_websocket",
	.state_size = sizeof(struct socket),
	.start = start,
	.gone = gone,
	.websocket = &echo,
};

static const struct h2d_websocket strict = {
	.message = message,
	.origins = "https://a.example https://b.example:8443",
	.protocols = "two one",
	.message_max = 1000,
	.send_max = 4000,
	.idle = 1,
};

const struct h2d_handler h2d_handler_t_strict = {
	.name = "t_strict",
	.state_size = sizeof(struct socket),
	.start = start,
	.gone = gone,
	.websocket = &strict,
};
