/*
 * sum: GET and POST /baseline11 and /baseline2 answer with the sum of the query's values and, of a
 * POST, of the number that is its body, however that is cut into pieces.
 */
#include "h2d/handler.h"

#include <inttypes.h>
#include <stdio.h>

#include "number.h"

struct sum {
	uint64_t query;
	struct number body;
};

static uint64_t sum_of_query(struct h2d_req *req)
{
	uint64_t sum = 0;

	for (unsigned i = 0, n = h2d_req_query_params(req); i < n; i++) {
		struct number number = { 0 };
		size_t len;
		const char *value = h2d_req_query_param_at(req, i, NULL, &len);

		number_add(&number, value, len);
		sum += number_value(&number);
	}
	return sum;
}

static void answer(struct h2d_req *req, const struct sum *s)
{
	char text[24];
	uint64_t sum = s->query + number_value(&s->body);
	int n = snprintf(text, sizeof(text), "%" PRId64, (int64_t)sum);

	h2d_reply_bytes(req, 200, "text/plain", text, (size_t)n);
}

static void start(struct h2d_req *req, void *state)
{
	struct sum *s = state;

	s->query = sum_of_query(req);
	if (h2d_req_method(req) != H2D_POST)
		answer(req, s);
}

static void body(struct h2d_req *req, void *state, const char *data, size_t len)
{
	number_add(&((struct sum *)state)->body, data, len);
	h2d_consume(req, len);
}

static void end(struct h2d_req *req, void *state)
{
	answer(req, state);
}

const struct h2d_handler h2d_handler_sum = {
	.name = "sum",
	.state_size = sizeof(struct sum),
	.start = start,
	.body = body,
	.end = end,
};
