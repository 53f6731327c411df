/*
 * pace: grants bytes by two buckets of tokens, that of the connection in its memory, that of the
 * client in the tally. Called by reply.c, by req.c and by the protocols' output. A grant is a
 * twentieth of a second's bytes, so that a slow response continues evenly and a fast one asks
 * seldom.
 */
#include "request/pace.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "request/req_client.h"
#include "request/trace.h"

enum {
	TICK_MS = 50,
	TICKS = 1000 / TICK_MS,
	GRANT_LEAST = 1024, /* bytes: no frames of a few */
	GRANT_FRAME = 16384,
	GRANT_MOST = 1 << 20,
	DEPTH = 4, /* grants available at once */
};

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S  UINT64_C(1000000000)

/* --- grants ----------------------------------------------------------------------------------- */

static uint64_t grant_of(uint64_t per_second)
{
	uint64_t n = per_second / TICKS;

	if (n < GRANT_LEAST)
		return GRANT_LEAST;
	if (n > GRANT_MOST)
		return GRANT_MOST;
	return n > GRANT_FRAME ? n - n % GRANT_FRAME : n;
}

static uint64_t time_of(uint64_t bytes, uint64_t per_second)
{
	return (uint64_t)((unsigned __int128)bytes * NS_PER_S / per_second);
}

/* Time that the connection waits for n bytes. */
static uint64_t conn_wait(
	const struct pace_conn *conn, uint64_t now_ns, uint64_t cost, uint64_t depth)
{
	uint64_t next = (conn->until_ns > now_ns ? conn->until_ns : now_ns) + cost;

	return next > now_ns + depth ? next - now_ns - depth : 0;
}

/* Takes n bytes from both buckets, or from none: returns how many nanoseconds it is too early. */
static uint64_t pace_take(struct h2d_req *req, uint64_t n)
{
	const struct pace_limit *limit = req->pace->limit;
	struct pace_conn *conn = req->conn->pace;
	uint64_t now_us = clock_us(), now_ns = now_us * NS_PER_US, of_conn = 0, wait, mark;

	if (limit->of_connection > 0 && conn != NULL && !req->conn->trusted) {
		of_conn = time_of(n, limit->of_connection);
		wait = conn_wait(conn, now_ns, of_conn,
			time_of(DEPTH * grant_of(limit->of_connection), limit->of_connection));
		if (wait > 0)
			return wait;
	}
	if (limit->of_client > 0 && req_limited(req, &mark)) {
		struct rate rate = { .rule = limit->rule };

		rate.cost_ns = time_of(n, limit->of_client);
		rate.depth_ns = time_of(DEPTH * grant_of(limit->of_client), limit->of_client);
		wait = tally_take(req->env->tally, mark, &rate, rate.cost_ns, now_us);
		if (wait > 0)
			return wait;
	}
	if (of_conn > 0)
		conn->until_ns = (conn->until_ns > now_ns ? conn->until_ns : now_ns) + of_conn;
	return 0;
}

static uint64_t piece_of(const struct pace_limit *limit)
{
	uint64_t client = limit->of_client > 0 ? grant_of(limit->of_client) : GRANT_MOST;
	uint64_t conn = limit->of_connection > 0 ? grant_of(limit->of_connection) : GRANT_MOST;

	return client < conn ? client : conn;
}

/* True if n bytes are sent though it is too early, because of a dry run. */
static bool passes(struct h2d_req *req, uint64_t n)
{
	struct pace *p = req->pace;

	if (!req->env->sites->dry_run)
		return false;
	if (!p->held)
		err_log_dry(ERR_BYTES, req_client(req));
	p->held = true;
	p->granted = n;
	return true;
}

static void wait_for(struct h2d_req *req, uint64_t ns)
{
	struct pacer *all = req->env->pacer;
	struct pace *p = req->pace;

	if (!p->held)
		err_log(ERR_BYTES, req_client(req));
	p->held = true;
	p->due_us = clock_us() + ns / NS_PER_US;
	if (!list_linked(&p->node))
		list_append(&all->waiting, &p->node);
	if (!timer_armed(&all->timer))
		timer_arm(&all->loop->wheel, &all->timer, clock_ms() + TICK_MS);
}

size_t pace_grant(struct h2d_req *req, size_t want)
{
	struct pace *p = req->pace;
	uint64_t n = piece_of(p->limit), wait;

	if (p->granted == 0) {
		/* A short response pays for its bytes. */
		if (req->reply.body.left < n)
			n = req->reply.body.left;
		if (n == 0)
			return want;
		wait = pace_take(req, n);
		if (wait == 0)
			p->granted = n;
		else if (!passes(req, n))
			wait_for(req, wait);
	}
	return p->granted < want ? (size_t)p->granted : want;
}

/* --- waiting responses ------------------------------------------------------------------------ */

/* Each asks again when it is due; if others were faster it waits once more. */
static void on_tick(struct timer *t)
{
	struct pacer *all = LIST_ENTRY(t, struct pacer, timer);
	uint64_t now_us = clock_us();

	LIST_EACH(struct pace, p, node, &all->waiting) {
		if (p->due_us > now_us)
			continue;
		list_remove(&p->node);
		if (p->req->state == REQ_REPLY)
			p->req->stream->resume(p->req);
	}
	if (!list_empty(&all->waiting))
		timer_arm(&all->loop->wheel, t, clock_ms() + TICK_MS);
}

void pacer_init(struct pacer *p, struct loop *loop)
{
	p->loop = loop;
	timer_init(&p->timer, on_tick);
	list_init(&p->waiting);
}

void pacer_fini(struct pacer *p)
{
	H2D_ASSERT(list_empty(&p->waiting));
	timer_disarm(&p->loop->wheel, &p->timer);
}

/* --- a response ------------------------------------------------------------------------------- */

static void trace(struct h2d_req *req)
{
	const struct pace_limit *limit = req->location->pace;

	if (limit->of_client > 0)
		trace_step(req, TRACE_PACE, limit->of_client_at,
			"limits each client to %" PRIu64 " bytes per second, over all workers",
			limit->of_client);
	if (limit->of_connection > 0)
		trace_step(req, TRACE_CONN_PACE, limit->of_connection_at,
			"limits each connection to %" PRIu64 " bytes per second",
			limit->of_connection);
}

void pace_begin(struct h2d_req *req)
{
	struct pace *p;
	uint64_t mark;

	if (__builtin_expect(req->env->conf.traced, false))
		trace(req);
	if (req->env->pacer == NULL || !req_limited(req, &mark))
		return;
	p = arena_zalloc(&req->arena, sizeof(*p));
	if (p == NULL)
		return;
	p->req = req;
	p->limit = req->location->pace;
	list_init(&p->node);
	req->pace = p;
}

void pace_end(struct h2d_req *req)
{
	list_remove(&req->pace->node);
	req->pace = NULL;
}
