/*
 * t_metrics: GET /t/metrics/{name}?NUMBER adds the number to the counter of that name, or to the
 * histogram if the name ends in "_seconds"; the answer is the process.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void start(struct h2d_req *req, void *state)
{
	struct h2d_worker *worker = h2d_req_worker(req);
	size_t n, len;
	const char *param = h2d_req_param(req, "name", &n), *query = h2d_req_query(req, &len);
	char name[64], number[64];

	(void)state;
	snprintf(name, sizeof(name), "%.*s", (int)n, param);
	snprintf(number, sizeof(number), "%.*s", (int)len, query);
	if (strstr(name, "_seconds") != NULL)
		h2d_observe(worker, name, strtod(number, NULL));
	else
		h2d_count(worker, name, strtoull(number, NULL, 10));
	n = (size_t)snprintf(number, sizeof(number), "%ld", (long)getpid());
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", number, n);
}

const struct h2d_handler h2d_handler_t_metrics = {
	.name = "t_metrics",
	.start = start,
};
