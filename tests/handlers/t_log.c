/*
 * t_log: GET /t/log/{level}?TEXT writes a line of that level (error, warn, notice, info, debug), as
 * often as the field "times" says, and one of another format; GET /t/user?NAME has the access log
 * say that name. A line tells of each worker.
 */
#include "h2d/handler.h"

#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {
	[H2D_LOG_ERROR] = "error",
	[H2D_LOG_WARN] = "warn",
	[H2D_LOG_NOTICE] = "notice",
	[H2D_LOG_INFO] = "info",
	[H2D_LOG_DEBUG] = "debug",
};

static enum h2d_level level_of(const char *p, size_t n)
{
	unsigned i = H2D_LOG_DEBUG;

	while (i > 0 && (strlen(levels[i]) != n || memcmp(levels[i], p, n) != 0))
		i--;
	return (enum h2d_level)i;
}

static void start_log(struct h2d_req *req, void *state)
{
	size_t n, len;
	const char *level = h2d_req_param(req, "level", &n), *text = h2d_req_query(req, &len);
	const char *times = h2d_req_header(req, "times", NULL);

	(void)state;
	for (int i = times != NULL ? atoi(times) : 1; i > 0; i--)
		h2d_log(req, level_of(level, n), "says %.*s", (int)len, text);
	h2d_log(req, level_of(level, n), "said it");
	h2d_reply_bytes(req, 200, NULL, NULL, 0);
}

static int init(struct h2d_worker *worker, void **context)
{
	(void)context;
	h2d_worker_log(worker, H2D_LOG_NOTICE, "is at home, with %d", 42);
	return 0;
}

static void start_user(struct h2d_req *req, void *state)
{
	size_t len, n;
	const char *name = h2d_req_query(req, &len);

	(void)state;
	if (h2d_req_set_user(req, name, len) < 0) {
		h2d_reply_error(req, 503);
		return;
	}
	name = h2d_req_user(req, &n);
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", name, n);
}

const struct h2d_handler h2d_handler_t_log = {
	.name = "t_log",
	.start = start_log,
	.worker_init = init,
};

const struct h2d_handler h2d_handler_t_user = {
	.name = "t_user",
	.start = start_user,
};
