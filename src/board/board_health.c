/*
 * board_health: its handler answers GET /healthz of admin listeners, and a server's health path
 * (env->conf.health of the request core), there without the reasons.
 */
#include "board/board_health.h"

#include <stdio.h>

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
	/* These are no faults. */
	WANTED = BOARD_HEALTH_LEAVING | BOARD_HEALTH_DRAINED,
};

static void board_health_answer(struct h2d_req *req, int status, struct slice text)
{
	h2d_reply_header(req, "cache-control", "no-store");
	reply_bytes(req, status, "text/plain; charset=utf-8", text);
}

static void explain(struct h2d_req *req, uint32_t facts)
{
	struct strbuf t = { 0 };

	for (unsigned i = 0; i < FACTS; i++)
		if (facts >> i & 1)
			strbuf_add(&t, texts[i]);
	if (t.failed)
		h2d_reply_error(req, 503);
	else
		board_health_answer(req, 503, slice_of(t.p, t.n));
	strbuf_fini(&t);
}

static void board_health_start(struct h2d_req *req, void *state)
{
	/* --explain answers without a scoreboard. */
	uint32_t facts = req->env->admin != NULL ? board_health(req->env->admin->board) : 0;

	(void)state;
	if (req->env->draining)
		facts |= BOARD_HEALTH_LEAVING;
	if (facts == 0)
		board_health_answer(req, 200, SLICE("ok\n"));
	else if (req->conn->admin)
		explain(req, facts);
	else
		board_health_answer(
			req, 503, facts & ~WANTED ? SLICE("not ready\n") : SLICE("draining\n"));
}

const struct h2d_handler h2d_handler_health = {
	.name = "health",
	.scope = H2D_ON_ADMIN,
	.start = board_health_start,
};

/* --- HAProxy's agent-check ------------------------------------------------------------------- */

enum {
	WHOLE = 1000,     /* the whole of a share */
	BUSY_TAKES = 900, /* a worker without spare time keeps a tenth of its weight */
	LATE_US = 10000,  /* a loop this late keeps half of it, three times as late a tenth */
	MOST_US = 1000000,
	BEGIN = 10,     /* percent until the first image */
	STEP_MS = 1000, /* doubled each second after it */
};

struct sums {
	uint64_t live, busy, late_us;
	unsigned n; /* workers */
};

/* Other processes write these members. */
static uint64_t at_most(uint64_t n, uint64_t max)
{
	return n < max ? n : max;
}

static void add_up(const struct board *b, struct sums *sums)
{
	uint32_t generation = BOARD_LOAD(b->head.generation);
	const struct board_slot *s;

	for (unsigned i = 0; (s = board_next(b, &i)) != NULL;) {
		if (BOARD_LOAD(s->generation) != generation || BOARD_LOAD(s->state) != BOARD_UP)
			continue;
		sums->live += BOARD_LOAD_LIVE(BOARD_LOAD(s->load));
		sums->busy += at_most(BOARD_LOAD(s->busy), WHOLE);
		sums->late_us += at_most(BOARD_LOAD(s->late_us), UINT32_MAX);
		sums->n++;
	}
}

/* Percent of spare capacity. By the square of the lateness: a machine ten times as late as the
 * others must get less than each hundredth request, or it makes their 99th percentile. */
static unsigned spare(const struct sums *sums, uint64_t connections)
{
	uint64_t taken = sums->live * WHOLE / (connections * sums->n);
	uint64_t busy = sums->busy / sums->n, late = at_most(sums->late_us / sums->n, MOST_US);
	uint64_t left, half = (uint64_t)LATE_US * LATE_US;

	if (busy > taken)
		taken = busy;
	left = WHOLE - at_most(taken, WHOLE) * BUSY_TAKES / WHOLE;
	return (unsigned)(left * half / (half + late * late) / (WHOLE / 100));
}

/* Rises slowly: 10 percent until there is a cache image, then 20, 40, 80 and all. */
static unsigned cap(const struct board_head *h, uint64_t now)
{
	uint64_t warm = BOARD_LOAD(h->warm_ms), steps;

	if (warm == 0)
		return BOARD_LOAD(h->building) ? BEGIN : 100;
	steps = now > warm ? (now - warm) / STEP_MS : 0;
	return steps < 4 ? (unsigned)BEGIN << steps : 100;
}

unsigned agent_percent(const struct board *b, uint64_t connections, uint64_t now)
{
	unsigned most = cap(&b->head, now), percent;
	struct sums sums = { 0 };

	if (board_health(b) != 0)
		return 0;
	add_up(b, &sums);
	percent = sums.n > 0 ? spare(&sums, connections) : 0;
	if (percent > most)
		percent = most;
	return percent > 0 ? percent : 1;
}

unsigned agent_text(const struct board *b, uint64_t connections, uint64_t now, char buf[AGENT_TEXT])
{
	unsigned percent = agent_percent(b, connections, now);
	char words[FLAGS_TEXT] = "";
	int n;

	if (percent == 0)
		flags_text(board_health_words, board_health(b), words);
	n = snprintf(
		buf, AGENT_TEXT, "up %u%%%s%.40s\n", percent, *words != '\0' ? " # " : "", words);
	return (unsigned)n;
}
