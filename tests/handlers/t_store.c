/*
 * t_store: PUT /t/store stores the body under the name in x-name, whatever that is, or without.
 * PUT /t/store/{how}?MS does so MS milliseconds later; with how paused the body waits meanwhile.
 */
#include "h2d/handler.h"

#include <stdlib.h>

static void stored(
	struct h2d_req *req, void *state, int status, const struct h2d_stored *files, size_t n)
{
	(void)state, (void)files;
	if (n == 0)
		h2d_reply_error(req, status);
	else
		h2d_reply_bytes(req, 204, NULL, NULL, 0);
}

static void store(struct h2d_req *req, void *state)
{
	size_t len;
	const char *name = h2d_req_header(req, "x-name", &len);

	(void)state;
	h2d_store(req, name, len, stored);
}

static void start(struct h2d_req *req, void *state)
{
	size_t len;
	const char *how = h2d_req_param(req, "how", &len);

	if (how == NULL) {
		store(req, state);
		return;
	}
	h2d_timer_set(h2d_timer_new(req, store), strtoul(h2d_req_query(req, &len), NULL, 10));
	if (how[0] == 'p')
		h2d_body_pause(req);
}

const struct h2d_handler h2d_handler_t_store = {
	.name = "t_store",
	.start = start,
};
