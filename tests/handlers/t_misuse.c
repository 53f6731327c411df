/*
 * t_misuse: slips of handlers, as tests/system/test_47_misuse.py asks for them. GET
 * /t/misuse/{what}?ARG makes the one that is called so.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <string.h>

#define TEXT "text/plain; charset=utf-8"

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
	snprintf(text, sizeof(text), "%d", h2d_reply_field(req, name, value));
	reply(req, text);
}

static void type_twice(struct h2d_req *req, const char *arg)
{
	h2d_reply_field(req, "content-type", "application/one");
	h2d_reply_field(req, "content-type", "application/two");
	if (strcmp(arg, "file") == 0)
		h2d_reply_file(req, H2D_DOCUMENT_ROOT, "/index.html", strlen("/index.html"));
	else
		h2d_reply_bytes(req, 200, arg[0] != '\0' ? arg : NULL, "x", 1);
}

static ssize_t fill_x(struct h2d_req *req, void *state, char *buf, size_t cap)
{
	bool *done = state;

	(void)req, (void)cap;
	if (*done)
		return 0;
	*done = true;
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

/* --- which one -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*fn)(struct h2d_req *req, const char *arg);
} slips[] = {
	{ "field", field },
	{ "type-twice", type_twice },
	{ "type-split", type_split },
	{ "type-split-stream", type_split_stream },
};

static void start(struct h2d_req *req, void *state)
{
	size_t n, len;
	const char *what = h2d_req_param(req, "what", &n), *query = h2d_req_query(req, &len);
	char arg[200];

	(void)state;
	snprintf(arg, sizeof(arg), "%.*s", (int)len, len > 0 ? query : "");
	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++)
		if (strlen(slips[i].name) == n && memcmp(slips[i].name, what, n) == 0)
			slips[i].fn(req, arg);
}

const struct h2d_handler h2d_handler_t_misuse = {
	.name = "t_misuse",
	.state_size = sizeof(bool),
	.start = start,
};
