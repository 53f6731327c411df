/*
 * t_form: POST /t/form/{when} takes a form of up to 5000 bytes and answers with its parameters, a
 * line each: now, as soon as it is read, or later, from a timer; behind: it asks for the form when
 * some of the body is gone.
 */
#include "h2d/handler.h"

#include <stdio.h>

static void reply(struct h2d_req *req, void *state)
{
	char text[8000];
	const char *p, *name;
	size_t n = 0, len;

	(void)state;
	for (unsigned i = 0; (p = h2d_form_param_at(req, i, &name, &len)) != NULL; i++)
		if (n < sizeof(text))
			n += (size_t)snprintf(
				text + n, sizeof(text) - n, "%s=%.*s\n", name, (int)len, p);
	if (h2d_form_param(req, "a", NULL) != NULL && n < sizeof(text))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "a is there\n");
	h2d_reply_bytes(
		req, 200, "text/plain; charset=utf-8", text, n < sizeof(text) ? n : sizeof(text));
}

static void done(struct h2d_req *req, void *state, int status)
{
	if (status != 200)
		h2d_reply_error(req, status);
	else if (h2d_req_param(req, "when", NULL)[0] == 'n')
		reply(req, state);
	else
		h2d_timer_set(h2d_timer_new(req, reply), 1);
}

static void read_form(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_form_read(req, 5000, done);
}

static void start(struct h2d_req *req, void *state)
{
	if (h2d_req_param(req, "when", NULL)[0] == 'b')
		h2d_timer_set(h2d_timer_new(req, read_form), 300);
	else
		read_form(req, state);
}

const struct h2d_handler h2d_handler_t_form = {
	.name = "t_form",
	.start = start,
};
