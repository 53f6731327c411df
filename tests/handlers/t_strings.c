/*
 * t_strings: POST /t/strings/{a}/{b}/ and more asks for all strings that a request has, and answers
 * with the calls whose string has another length than it says, which is where its NUL stands.
 */
#include "h2d/handler.h"

#include <stdio.h>
#include <string.h>

struct strings {
	char wrong[1000];
	size_t n;
	unsigned asked;
};

static void ask(struct strings *s, const char *call, const char *p, size_t len)
{
	s->asked++;
	if (p == NULL || strlen(p) != len)
		s->n += (size_t)snprintf(s->wrong + s->n, sizeof(s->wrong) - s->n, "%s %d != %d\n",
			call, p != NULL ? (int)strlen(p) : -1, (int)len);
}

static void start(struct h2d_req *req, void *state)
{
	struct strings *s = state;
	const char *p, *name;
	size_t n, name_len;

#define ASK(call, ...) (p = h2d_req_##call(req __VA_OPT__(, ) __VA_ARGS__, &n), ask(s, #call, p, n))
	ASK(path);
	ASK(query);
	ASK(authority);
	ASK(param, "a");
	ASK(param, "b");
	ASK(param_at, 2, &name);
	ASK(header, "x-one");
	ASK(header_nth, "x-one", 1);
	for (unsigned i = 0; i < h2d_req_headers(req); i++) {
		p = h2d_req_header_at(req, i, &name, &name_len, &n);
		ask(s, "header", p, n);
		ask(s, "header's name", name, name_len);
	}
	ASK(header, "cookie");
	ASK(cookie, "c");
	ASK(cookie, "a");
	ASK(cookie, "b");
	ASK(query_param, "q");
	ASK(query_param_at, 1, &name);
	ASK(peer);
	ASK(user);
	ASK(id);
	p = h2d_req_coding(req, "br gzip");
	ask(s, "coding", p, 2);
	ask(s, "scheme", h2d_req_scheme(req), strlen(h2d_req_scheme(req)));
}

static void end(struct h2d_req *req, void *state)
{
	struct strings *s = state;
	const char *p, *name;
	size_t n;

	ASK(trailer, "x-sum");
	ASK(trailer_at, 0, &name);
	ask(s, "trailer's name", name, 5);
	if (s->n == 0)
		s->n = (size_t)snprintf(s->wrong, sizeof(s->wrong), "%u", s->asked);
	h2d_reply_bytes(req, 200, "text/plain; charset=utf-8", s->wrong, s->n);
}

const struct h2d_handler h2d_handler_t_strings = {
	.name = "t_strings",
	.state_size = sizeof(struct strings),
	.start = start,
	.end = end,
};
