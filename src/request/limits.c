/*
 * limits: finds the client of a request, asks the tally, and answers a client over its rate. Called
 * by req.c before the gate, so that refusals cost little.
 */
#include "request/limits.h"

#include <inttypes.h>

#include "base/clock.h"
#include "request/req_client.h"
#include "request/trace.h"

#define NS_PER_S UINT64_C(1000000000)

/* Not before wait_ns from now: RFC 6585, 4; RFC 9110, 10.2.3. */
static void limits_refuse(struct h2d_req *req, uint64_t wait_ns)
{
	const char *s = arena_printf(&req->arena, "%" PRIu64, (wait_ns + NS_PER_S - 1) / NS_PER_S);

	err_log(ERR_REQUEST_RATE, req_client(req));
	req_record_error(&req->record, ERR_REQUEST_RATE);
	reply_add(req, SLICE("retry-after"), s != NULL ? slice_str(s) : SLICE("1"));
	reply_error(req, ERR_REQUEST_RATE->status);
}

static void trace(struct h2d_req *req, bool holds, uint64_t wait_ns)
{
	const struct rate *r = req->location->requests;
	const char *what = "; the client does not exceed it";

	if (req->env->tally == NULL)
		what = ", over all workers";
	else if (!holds)
		what = "; the client is exempt";
	else if (wait_ns > 0)
		what = req->env->sites->dry_run ? "; the client exceeds it, but dry-run is on"
						: "; the client exceeds it: refused";
	trace_step(req, TRACE_RATE, TRACE_AT(req->location, requests),
		"limits each client to %" PRIu64 ", burst %" PRIu64 "%s", NS_PER_S / r->cost_ns,
		r->depth_ns / r->cost_ns, what);
}

/* Answers a client over its rate. */
static __attribute__((cold, noinline)) bool over(struct h2d_req *req, uint64_t wait_ns)
{
	if (req->env->sites->dry_run) {
		err_log_dry(ERR_REQUEST_RATE, req_client(req));
		return true;
	}
	limits_refuse(req, wait_ns);
	return false;
}

/* A traced request, a possible health check, or one of an exempt client, or of a client other than
 * the peer. */
static __attribute__((noinline)) bool take_slowly(struct h2d_req *req)
{
	const struct rate *rate = req->location->requests;
	uint64_t mark, wait_ns = 0;
	bool holds;

	/* Load balancers request it all the time. */
	if (site_is_health(req->site, req->path))
		return true;
	holds = req_limited(req, &mark);
	if (holds)
		wait_ns = tally_take(req->env->tally, mark, rate, rate->cost_ns, clock_us());
	if (__builtin_expect(req->env->conf.traced, false))
		trace(req, holds, wait_ns);
	return wait_ns == 0 || over(req, wait_ns);
}

bool limits_take_request(struct h2d_req *req)
{
	uint64_t wait_ns, now_us = clock_us(); /* first: registers are free for the rest */
	const struct account *a = req->conn->account;
	const struct rate *rate = req->location->requests;
	const struct http_env *env = req->env;

	if (__builtin_expect(req->path.n == req->site->health.n || req->client != NULL ||
				     env->tally == NULL || a == NULL || a->limited == 0 ||
				     env->conf.traced,
		    false))
		return take_slowly(req);
	wait_ns = tally_take(env->tally, a->limited, rate, rate->cost_ns, now_us);
	return __builtin_expect(wait_ns == 0, true) || over(req, wait_ns);
}
