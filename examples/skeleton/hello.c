/* hello: GET /hello/NAME greets NAME. */
#include "h2d/handler.h"

#include <string.h>

static const char greeting[] = "Hello, ";

static void start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_param(req, "name", &len);
	size_t n = sizeof(greeting) - 1;
	char *text = h2d_req_alloc(req, n + len + 2);

	(void)state;
	if (text == NULL) {
		h2d_reply_error(req, 503);
		return;
	}
	memcpy(text, greeting, n);
	memcpy(text + n, name, len);
	memcpy(text + n + len, "!\n", 2);
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text, n + len + 2);
}

const struct h2d_handler h2d_handler_hello = {
	.name = "hello",
	.start = start,
};
