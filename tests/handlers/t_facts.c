/* t_facts: answers with all that a handler can ask of its request, a line each. */
#include "h2d/handler.h"

#include <stdio.h>

static void add(char *text, size_t *n, const char *name, const char *p, size_t len)
{
	*n += (size_t)snprintf(text + *n, 1000 - *n, "%s=%s%.*s\n", name, p == NULL ? "NULL" : "",
		(int)len, p != NULL ? p : "");
}

static void start(struct h2d_req *req, void *state)
{
	char text[1000], number[32];
	const char *p, *name;
	size_t n = 0, len;

	(void)state;
	for (unsigned i = 0; i < h2d_req_params(req); i++) {
		p = h2d_req_param_at(req, i, &name, &len);
		add(text, &n, name, p, len);
	}
	snprintf(number, sizeof(number), "%lld", (long long)h2d_req_length(req));
	add(text, &n, "length", number, sizeof(number));
	p = h2d_req_peer(req, &len);
	add(text, &n, "peer", p, len);
	p = h2d_req_user(req, &len);
	add(text, &n, "user", p, len);
	p = h2d_req_header(req, "cookie", &len);
	if (p != NULL)
		add(text, &n, "cookie", p, len);
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text, n);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	(void)state, (void)data;
	h2d_consume(req, len);
}

const struct h2d_handler h2d_handler_t_facts = {
	.name = "t_facts",
	.start = start,
	.body = body,
};

const struct h2d_handler h2d_handler_t_admin = {
	.name = "t_admin",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
