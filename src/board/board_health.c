/*
 * board_health: 200 while h2d serves, 503 with the reasons while a load balancer is to send
 * requests elsewhere. Its handler answers GET /healthz of admin listeners, and the path that a
 * server calls its health (env->conf.health of the request core), where the reasons are nobody's
 * business.
 */
#include "board/board_health.h"

#include "board/admin.h"
#include "request/reply.h"

const char *const board_health_words[] = {
#define BOARD_HEALTH(name, word, text) word,
#include "board/board_health.def"
	NULL
};

static const struct slice texts[] = {
#define BOARD_HEALTH(name, word, text) SLICE_LIT(text "\n"),
#include "board/board_health.def"
};

enum {
	FACTS = sizeof(texts) / sizeof(texts[0]),
	/* Nothing is wrong with it. */
	WANTED = BOARD_HEALTH_LEAVING | BOARD_HEALTH_DRAINED,
};

static void answer(struct h2d_req *req, int status, struct slice text)
{
	h2d_reply_field(req, "cache-control", "no-store");
	reply_bytes(req, status, "text/plain; charset=utf-8", text);
}

/* Why, for an operator. */
static void explain(struct h2d_req *req, uint32_t facts)
{
	struct strbuf t = { 0 };

	for (unsigned i = 0; i < FACTS; i++)
		if (facts >> i & 1)
			strbuf_add(&t, texts[i]);
	if (t.failed)
		h2d_reply_error(req, 503);
	else
		answer(req, 503, slice_of(t.p, t.n));
	strbuf_fini(&t);
}

static void start(struct h2d_req *req, void *state)
{
	/* --explain answers without a scoreboard. */
	uint32_t facts = req->env->admin != NULL ? board_health(req->env->admin->board) : 0;

	(void)state;
	if (req->env->draining)
		facts |= BOARD_HEALTH_LEAVING;
	if (facts == 0)
		answer(req, 200, SLICE("ok\n"));
	else if (req->conn->admin)
		explain(req, facts);
	else
		answer(req, 503, facts & ~WANTED ? SLICE("not ready\n") : SLICE("draining\n"));
}

const struct h2d_handler h2d_handler_health = {
	.name = "health",
	.scope = H2D_ON_ADMIN,
	.start = start,
};
