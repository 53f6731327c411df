/*
 * admission: asks the tally for the rate, and keeps the number with the client's account, whose
 * share all workers see by the tally. Called by stream_handshake.c behind the PROXY header, and by
 * session.c at the end.
 */
#include "session/admission.h"

#include "base/clock.h"
#include "request/tally.h"
#include "session/sessions.h"

static bool over_rate(const struct session *s, const struct http_env *env)
{
	const struct rate *rate = env->sites->connections;

	return rate != NULL &&
	       tally_take(env->tally, s->http.account->mark, rate, rate->cost_ns, clock_us()) > 0;
}

static void tell(const struct session *s)
{
	const struct account *a = s->http.account;

	tally_tell(s->all->tally, a->mark, s->all->connections_rule,
		a->parts[ACCOUNT_CONNECTIONS].held, clock_us());
}

/* It is counted before the others are looked at: of two that come at once none slips through. */
static bool over_number(struct session *s, uint64_t max)
{
	struct account *a = s->http.account;
	uint64_t others;

	s->counted = true;
	budget_take(&s->all->connections, a, 1);
	tell(s);
	others = tally_others(s->all->tally, a->mark, s->all->connections_rule, clock_us());
	return a->parts[ACCOUNT_CONNECTIONS].held + others > max;
}

bool admission_ask(struct session *s, const struct http_env *env)
{
	const struct account *a = s->http.account;
	const struct err *err = NULL;

	if (a == NULL || a->exempt || s->http.trusted || env->tally == NULL || account_is_crowd(a))
		return true;
	if (over_rate(s, env))
		err = ERR_CONNECTION_RATE;
	else if (env->sites->connections_max > 0 && over_number(s, env->sites->connections_max))
		err = ERR_CONNECTIONS;
	if (err == NULL)
		return true;
	if (env->sites->dry_run) {
		err_log_dry(err, &s->http.peer);
		return true;
	}
	err_log(err, &s->http.peer);
	return false;
}

void admission_end(struct session *s)
{
	if (!s->counted)
		return;
	s->counted = false;
	/* The account may go with what is given back. */
	account_hold(s->http.account);
	budget_give(&s->all->connections, s->http.account, 1);
	tell(s);
	account_close(&(struct account *){ s->http.account });
}
