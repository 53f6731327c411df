/*
 * t_reply: the short replies. GET /t/reply/{how} makes the one that is called so, of the query;
 * POST /t/read reads a body of up to 5000 bytes and sends it back, without copying it.
 */
#include "h2d/handler.h"

#include <stdlib.h>
#include <string.h>

static unsigned released;

static void release(void *data)
{
	free(data);
	released++;
}

/* Memory of n bytes that h2d frees. */
static void reply_owned(struct h2d_req *req, size_t n)
{
	char *data = malloc(n);

	if (data != NULL)
		memset(data, 'o', n);
	h2d_reply_memory(req, 200, H2D_TEXT, data, data != NULL ? n : 0, release);
}

static void start(struct h2d_req *req, void *state)
{
	static char large[100000];
	const char *how = h2d_req_param(req, "how", NULL), *arg = h2d_req_query(req, NULL);

	(void)state;
	if (strcmp(how, "text") == 0) {
		h2d_reply_text(req, 200, arg);
	} else if (strcmp(how, "json") == 0) {
		h2d_reply_json(req, 202, "{\"a\":1}");
	} else if (strcmp(how, "printf") == 0) {
		h2d_reply_printf(req, 200, H2D_HTML, "<p>%s%0*d", arg, 5000, 7);
	} else if (strcmp(how, "redirect") == 0) {
		h2d_reply_redirect(req, 303, arg);
	} else if (strcmp(how, "cookie") == 0) {
		if (h2d_reply_cookie(req, "a", arg, 60) < 0 ||
			h2d_reply_cookie(req, "b", "", 0) < 0 ||
			h2d_reply_cookie(req, "c", "1", -1) < 0)
			h2d_reply_error(req, 400);
		else
			h2d_reply_text(req, 200, "");
	} else if (strcmp(how, "static") == 0) {
		memset(large, 's', sizeof(large));
		h2d_reply_memory(req, 200, H2D_TEXT, large, sizeof(large), NULL);
	} else if (strcmp(how, "owned") == 0) {
		reply_owned(req, (size_t)atoi(arg));
	} else {
		h2d_reply_printf(req, 200, H2D_TEXT, "%u", released);
	}
}

const struct h2d_handler h2d_handler_t_reply = { .name = "t_reply", .start = start };

static void answer(struct h2d_req *req, void *state, int status, const char *data, size_t len)
{
	(void)state;
	if (status != 200)
		h2d_reply_error(req, status);
	else if (data[len] == '\0')
		h2d_reply_memory(req, 200, H2D_TEXT, data, len, NULL);
}

static void read_start(struct h2d_req *req, void *state)
{
	(void)state;
	h2d_body_read(req, 5000, answer);
}

const struct h2d_handler h2d_handler_t_read = { .name = "t_read", .start = read_start };
