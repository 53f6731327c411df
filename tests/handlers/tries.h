/*
 * tries: what handlers do that try what a worker should not be able to: a table of names and
 * functions, of which the request's {what} chooses one and its query is the argument. It answers
 * "done", or the name of the error.
 */
#pragma once

#include "h2d/handler.h"

#include <errno.h>
#include <string.h>

struct
try {
	const char *name;
	int (*fn)(const char *arg); /* 0, or -1 with errno */
};

static inline void tries_answer(struct h2d_req *req, int rc)
{
	const char *text = rc == 0 ? "done" : strerrorname_np(errno);

	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", text, strlen(text));
}

static inline void tries_start(struct h2d_req *req, const struct try *tries, size_t ntries)
{
	size_t len, n;
	const char *what = h2d_req_param(req, "what", &n), *query = h2d_req_query(req, &len);
	char arg[512] = "";

	if (len > 0)
		memcpy(arg, query, len < sizeof(arg) ? len : sizeof(arg) - 1);
	for (size_t i = 0; i < ntries; i++) {
		if (strlen(tries[i].name) == n && memcmp(tries[i].name, what, n) == 0) {
			tries_answer(req, tries[i].fn(arg));
			return;
		}
	}
	h2d_reply_error(req, 404);
}
