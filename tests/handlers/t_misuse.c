/*
 * t_misuse: slips of handlers, as tests/system/test_47_misuse.py asks for them. GET
 * /t/misuse/{what}?ARG makes the one that is called so.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT "text/plain; charset=utf-8"

struct misuse {
	unsigned left; /* pieces that a fill writes */
};

static void reply(struct h2d_req *req, const char *text)
{
	h2d_reply_bytes(req, 200, TEXT, text, strlen(text));
}

/* --- fields and types ------------------------------------------------------------------------- */

/* Adds the field NAME=VALUE of the query, with "_" for blanks, and says what came of it. */
static void field(struct h2d_req *req, const char *arg)
{
	char name[200], text[8], *value, *blank;

	snprintf(name, sizeof(name), "%s", arg);
	value = strchr(name, '=');
	*value++ = '\0';
	while ((blank = strchr(value, '_')) != NULL)
		*blank = ' ';
	snprintf(text, sizeof(text), "%d", h2d_reply_header(req, name, value));
	reply(req, text);
}

static void type_twice(struct h2d_req *req, const char *arg)
{
	h2d_reply_header(req, "content-type", "application/one");
	h2d_reply_header(req, "content-type", "application/two");
	if (strcmp(arg, "file") == 0)
		h2d_reply_file(req, H2D_DOCUMENT_ROOT, "/index.html", strlen("/index.html"));
	else
		h2d_reply_bytes(req, 200, arg[0] != '\0' ? arg : NULL, "x", 1);
}

static ssize_t fill_x(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct misuse *m = state;

	(void)req, (void)cap;
	if (m->left == 0)
		return 0;
	m->left--;
	buf[0] = 'x';
	return 1;
}

#define STOLEN "text/plain\r\nset-cookie: stolen=1"

static void type_split(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_bytes(req, 200, STOLEN, "x", 1);
}

static void type_split_stream(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_stream(req, 200, STOLEN, fill_x);
}

static void location_split(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_redirect(req, 303, "/\r\nset-cookie: stolen=1");
}

/* --- more than one reply ---------------------------------------------------------------------- */

static void page(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_error(req, 404);
}

static void bytes(struct h2d_req *req, const char *arg)
{
	(void)arg;
	reply(req, "twice");
}

static void file(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_file(req, H2D_DOCUMENT_ROOT, "/index.html", strlen("/index.html"));
}

static void stream(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_stream(req, 200, TEXT, fill_x);
}

static void options(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_options(req);
}

static void text(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_text(req, 200, "twice");
}

static void redirect(struct h2d_req *req, const char *arg)
{
	h2d_reply_redirect(req, arg[0] != '\0' ? atoi(arg) : 303, "/");
}

static void memory(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_memory(req, 200, TEXT, calloc(1, 1), 1, free);
}

static void add(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_header(req, "x-late", "1");
}

static void hint(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_interim(req, 103, NULL, 0);
}

static void in_gone(struct h2d_req *req, const char *arg)
{
	(void)req, (void)arg;
}

static void quit(struct h2d_req *req, const char *arg)
{
	(void)req;
	exit(atoi(arg));
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void status(struct h2d_req *req, const char *arg)
{
	h2d_reply_bytes(req, atoi(arg), TEXT, "x", 1);
}

static void error_status(struct h2d_req *req, const char *arg)
{
	h2d_reply_error(req, atoi(arg));
}

static ssize_t fill_too_far(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	(void)req, (void)state, (void)buf;
	return (ssize_t)cap + 1;
}

static void over_the_buffer(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_stream(req, 200, TEXT, fill_too_far);
}

/* Writes "0123456789" as often as the query says. */
static ssize_t fill_tens(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	struct misuse *m = state;

	(void)req;
	if (m->left == 0)
		return 0;
	m->left--;
	memcpy(buf, "0123456789", cap < 10 ? cap : 10);
	return cap < 10 ? (ssize_t)cap : 10;
}

static void sized(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_stream_sized(req, 200, TEXT, 30, fill_tens);
}

static void sized_wrapped(struct h2d_req *req, const char *arg)
{
	(void)arg;
	h2d_reply_stream_sized(req, 200, TEXT, (uint64_t)-1, fill_x);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void too_large(struct h2d_req *req, const char *arg)
{
	static char large[5 << 20];

	(void)arg;
	h2d_reply_bytes(req, 200, TEXT, large, sizeof(large));
}

/* Takes all there is of the request's memory, and replies as the query says. */
static void spent(struct h2d_req *req, const char *arg)
{
	for (size_t n = 1 << 20; n > 0; n /= 2)
		while (h2d_req_alloc(req, n) != NULL)
			;
	if (strcmp(arg, "stream") == 0)
		stream(req, arg);
	else if (strcmp(arg, "file") == 0)
		file(req, arg);
	else if (strcmp(arg, "page") == 0)
		page(req, arg);
	else
		reply(req, "much too long for what is left");
}

/* --- which one -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*fn)(struct h2d_req *req, const char *arg);
} slips[] = {
	{ "field", field },
	{ "type-twice", type_twice },
	{ "type-split", type_split },
	{ "type-split-stream", type_split_stream },
	{ "location-split", location_split },
	{ "page", page },
	{ "bytes", bytes },
	{ "file", file },
	{ "stream", stream },
	{ "options", options },
	{ "text", text },
	{ "redirect", redirect },
	{ "memory", memory },
	{ "add", add },
	{ "hint", hint },
	{ "gone", in_gone },
	{ "never", in_gone },
	{ "quit", quit },
	{ "status", status },
	{ "error-status", error_status },
	{ "over-the-buffer", over_the_buffer },
	{ "sized", sized },
	{ "sized-wrapped", sized_wrapped },
	{ "too-large", too_large },
	{ "spent", spent },
};

/* Two slips that are joined by "+" are made one after the other. */
static void make(struct h2d_req *req, const char *what, size_t n, const char *arg)
{
	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++)
		if (strlen(slips[i].name) == n && memcmp(slips[i].name, what, n) == 0)
			slips[i].fn(req, arg);
}

static void start(struct h2d_req *req, void *state)
{
	size_t n, len;
	const char *what = h2d_req_param(req, "what", &n), *query = h2d_req_query(req, &len);
	const char *plus = memchr(what, '+', n);
	struct misuse *m = state;
	char arg[200];

	snprintf(arg, sizeof(arg), "%.*s", (int)len, len > 0 ? query : "");
	m->left = (unsigned)atoi(arg);
	make(req, what, plus != NULL ? (size_t)(plus - what) : n, arg);
	if (plus != NULL)
		make(req, plus + 1, n - (size_t)(plus + 1 - what), arg);
}

/* The reply of "gone" comes too late. */
static void gone(struct h2d_req *req, void *state)
{
	size_t n;
	const char *what = h2d_req_param(req, "what", &n);

	(void)state;
	if (n == strlen("gone") || (n > 5 && memcmp(what, "gone+", 5) == 0))
		reply(req, "too late");
}

/* --- bodies ----------------------------------------------------------------------------------- */

static void nothing(struct h2d_req *req, void *state)
{
	(void)req, (void)state;
}

/* POST /t/misuse/credit gives each piece's credit back twice. */
static void twice(struct h2d_req *req, void *state, const char *data, size_t len)
{
	(void)state, (void)data;
	h2d_consume(req, len);
	h2d_consume(req, len);
}

const struct h2d_handler h2d_handler_t_credit = {
	.name = "t_credit",
	.start = nothing,
	.body = twice,
};

/* POST /t/misuse/duplex replies once more while its reply is made of the body, whose end is its. */
static ssize_t fill_nothing(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	const struct misuse *m = state;

	(void)req, (void)buf, (void)cap;
	return m->left > 0 ? 0 : H2D_LATER;
}

static void duplex(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_reply_stream(req, 200, TEXT, fill_nothing);
}

static void once_more(struct h2d_req *req, void *state, const char *data, size_t len)
{
	struct misuse *m = state;

	(void)data;
	h2d_consume(req, len);
	reply(req, "once more");
	m->left = 1;
	h2d_resume(req);
}

const struct h2d_handler h2d_handler_t_duplex_twice = {
	.name = "t_duplex_twice",
	.state_size = sizeof(struct misuse),
	.duplex = true,
	.start = duplex,
	.body = once_more,
};

/* POST /t/misuse/hoard gives no credit back, and does not answer. */
static void hoard(struct h2d_req *req, void *state, const char *data, size_t len)
{
	(void)req, (void)state, (void)data, (void)len;
}

const struct h2d_handler h2d_handler_t_hoard = {
	.name = "t_hoard",
	.start = nothing,
	.body = hoard,
};

/* POST /t/misuse/end waits for the end of a body, and takes none of it. */
static void end(struct h2d_req *req, void *state)
{
	(void)state;
	reply(req, "the end");
}

const struct h2d_handler h2d_handler_t_end = {
	.name = "t_end",
	.start = nothing,
	.end = end,
};

/* PUT /t/misuse/store stores twice, or behind its reply. */
static void stored(
	struct h2d_req *req, void *state, int status_of, const struct h2d_stored *files, size_t n)
{
	(void)state, (void)files, (void)n;
	h2d_reply_bytes(req, status_of, NULL, NULL, 0);
}

static void store(struct h2d_req *req, void *state)
{
	size_t len;

	(void)state;
	if (h2d_req_query(req, &len) != NULL && len > 0)
		reply(req, "first");
	else
		h2d_store(req, "a", 1, stored);
	h2d_store(req, "b", 1, stored);
}

const struct h2d_handler h2d_handler_t_store_twice = {
	.name = "t_store_twice",
	.start = store,
};

/* GET /t/misuse/socket is a WebSocket on a route that streams its body. */
static void on_message(
	struct h2d_req *req, void *state, enum h2d_ws_kind kind, const char *data, size_t len)
{
	(void)req, (void)state, (void)kind, (void)data, (void)len;
}

static void open_socket(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_accept_websocket(req);
}

static const struct h2d_websocket socket_of_body = { .message = on_message };

const struct h2d_handler h2d_handler_t_streamed = {
	.name = "t_streamed",
	.start = open_socket,
	.body = hoard,
	.websocket = &socket_of_body,
};

const struct h2d_handler h2d_handler_t_misuse = {
	.name = "t_misuse",
	.state_size = sizeof(struct misuse),
	.start = start,
	.gone = gone,
};
