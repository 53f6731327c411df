/*
 * echo: POST /echo takes a JSON text of up to 64 KiB and sends it back. It shows a handler that
 * needs the whole body before it can answer.
 */
#include "h2d/handler.h"

#include <string.h>

enum { LIMIT = 65536 };

static void answer(struct h2d_req *req, void *state, int status, const char *data, size_t len)
{
	(void)state;
	if (status == 200)
		h2d_reply_bytes(req, 200, H2D_JSON, data, len);
	else
		h2d_reply_error(req, status);
}

static void start(struct h2d_req *req, void *state)
{
	const char *type = h2d_req_header(req, "content-type", NULL);

	(void)state;
	if (type == NULL || strncmp(type, "application/json", 16) != 0)
		h2d_reply_error(req, 415);
	else
		h2d_body_read(req, LIMIT, answer);
}

const struct h2d_handler h2d_handler_echo = { .name = "echo", .start = start };
