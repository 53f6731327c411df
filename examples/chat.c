/*
 * chat: GET /chat/{room} is a WebSocket, where one is asked for, or a stream of server-sent events;
 * each message of a WebSocket, and POST /chat/{room}, says a text of up to 4096 bytes to all who
 * listen, in whichever worker they are. A listener that reads too slowly misses texts and is told
 * so ("event: lost"), or its WebSocket is closed with code 1013; no memory is held for it beyond
 * its buffer.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 4096, PENDING = 32768, TOPIC = 256, SECOND_MS = 1000, PING_SECONDS = 15 };

/* The topic of the room; false: its name is too long. */
static bool topic_of(const struct h2d_req *req, char topic[TOPIC])
{
	size_t len;
	const char *room = h2d_req_param(req, "room", &len);

	return (size_t)snprintf(topic, TOPIC, "chat/%.*s", (int)len, room) < TOPIC;
}

/* --- listening -------------------------------------------------------------------------------- */

struct listener {
	struct h2d_timer *timer;
	unsigned seconds;
	bool lost;
	size_t n; /* bytes of events that the client has not taken yet */
	char events[PENDING];
};

/* Appends an event that is there whole; false: it finds no room. */
static bool append(struct listener *l, const char *event, size_t n)
{
	if (n > PENDING - l->n)
		return false;
	memcpy(l->events + l->n, event, n);
	l->n += n;
	return true;
}

static void tell_lost(struct listener *l)
{
	static const char event[] = "event: lost\ndata:\n\n";

	if (l->lost && append(l, event, sizeof(event) - 1))
		l->lost = false;
}

/* Each line of the text is a data field of the event. */
static void on_text(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct listener *l = state;
	size_t before = l->n;
	bool fits = data != NULL && append(l, "data: ", 6);

	for (size_t i = 0; i < len && fits; i++)
		fits = data[i] == '\n'   ? append(l, "\ndata: ", 7)
		       : data[i] == '\r' ? true
					 : append(l, data + i, 1);
	if (!fits || !append(l, "\n\n", 2)) {
		l->n = before;
		l->lost = true;
	}
	tell_lost(l);
	h2d_resume(req);
}

/* A comment now and then keeps what is between here and the client from giving up. */
static void on_second(struct h2d_req *req, void *state)
{
	struct listener *l = state;

	if (++l->seconds % PING_SECONDS == 0)
		append(l, ":\n\n", 3);
	h2d_timer_set(l->timer, SECOND_MS);
	h2d_resume(req);
}

static ssize_t fill(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct listener *l = state;
	size_t n = l->n < cap ? l->n : cap;

	if (n == 0)
		return h2d_draining(req) ? 0 : H2D_LATER;
	memcpy(buf, l->events, n);
	memmove(l->events, l->events + n, l->n - n);
	l->n -= n;
	tell_lost(l);
	return (ssize_t)n;
}

/* --- a WebSocket ------------------------------------------------------------------------------ */

static void on_message(
	struct h2d_req *req, void *state, enum h2d_ws_kind kind, const char *data, size_t len)
{
	char topic[TOPIC];

	(void)state;
	if (kind != H2D_WS_TEXT || len > TEXT_MAX)
		h2d_websocket_close(req, H2D_WS_POLICY, "texts of up to 4096 bytes");
	else if (topic_of(req, topic) && h2d_publish(h2d_req_worker(req), topic, data, len) < 0)
		h2d_websocket_close(req, H2D_WS_TRY_LATER, NULL);
}

static void on_text_for_socket(struct h2d_req *req, void *state, const char *data, size_t len)
{
	(void)state;
	if (data == NULL || (h2d_websocket_send(req, H2D_WS_TEXT, data, len) < 0 &&
				    h2d_websocket_waiting(req) > 0))
		h2d_websocket_close(req, H2D_WS_TRY_LATER, "too slow");
}

static const struct h2d_websocket chat_socket = {
	.message = on_message,
	.message_max = TEXT_MAX,
};

static void open_socket(struct h2d_req *req, const char *topic)
{
	if (h2d_subscribe(req, topic, on_text_for_socket) < 0)
		h2d_reply_error(req, 503);
	else
		h2d_accept_websocket(req);
}

/* --- both ------------------------------------------------------------------------------------- */

static void listen_start(struct h2d_req *req, void *state)
{
	struct listener *l = state;
	char topic[TOPIC];

	if (!topic_of(req, topic)) {
		h2d_reply_error(req, 404);
		return;
	}
	if (h2d_websocket_wanted(req)) {
		open_socket(req, topic);
		return;
	}
	l->timer = h2d_timer_new(req, on_second);
	if (l->timer == NULL || h2d_subscribe(req, topic, on_text) < 0) {
		h2d_reply_error(req, 503);
		return;
	}
	h2d_timer_set(l->timer, SECOND_MS);
	append(l, ":\n\n", 3);
	h2d_reply_header(req, "cache-control", "no-store");
	h2d_reply_stream(req, 200, "text/event-stream; charset=utf-8", fill);
}

const struct h2d_handler h2d_handler_chat_listen = {
	.name = "chat_listen",
	.state_size = sizeof(struct listener),
	.start = listen_start,
	.websocket = &chat_socket,
};

/* --- saying ----------------------------------------------------------------------------------- */

struct text {
	size_t n;
	char bytes[TEXT_MAX];
};

static void say_start(struct h2d_req *req, void *state)
{
	(void)state;
	if (h2d_req_length(req) > TEXT_MAX)
		h2d_reply_error(req, 413);
}

static void say_body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct text *t = state;

	if (len > TEXT_MAX - t->n) {
		h2d_reply_error(req, 413);
		return;
	}
	memcpy(t->bytes + t->n, data, len);
	t->n += len;
	h2d_consume(req, len);
}

static void say_end(struct h2d_req *req, void *state)
{
	const struct text *t = state;
	char topic[TOPIC];

	if (!topic_of(req, topic))
		h2d_reply_error(req, 404);
	else if (h2d_publish(h2d_req_worker(req), topic, t->bytes, t->n) < 0)
		h2d_reply_error(req, 503);
	else
		h2d_reply_bytes(req, 204, NULL, NULL, 0);
}

const struct h2d_handler h2d_handler_chat_say = {
	.name = "chat_say",
	.state_size = sizeof(struct text),
	.start = say_start,
	.body = say_body,
	.end = say_end,
};
