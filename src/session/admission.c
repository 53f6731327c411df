/*
 * admission: asks the tally for the rate, and keeps the number in the client's account, which all
 * workers see by the tally. Called by stream_handshake.c after the PROXY header, and by session.c
 * at the end.
 */
#include "session/sessions.h"

#include "base/clock.h"
#include "share/tally.h"

static bool over_rate(const struct session *s, const struct http_env *env)
{
	const struct rate *rate = env->sites->connections;

	return rate != NULL &&
	       tally_take(env->tally, s->http.account->mark, rate, rate->cost_ns, clock_us()) > 0;
}

bool admission_ask(struct session *s, const struct http_env *env)
{
	const struct account *a = s->http.account;
	const struct err *err = NULL;

	if (a == NULL || a->exempt || s->http.trusted || env->tally == NULL || account_is_crowd(a))
		return true;
	if (over_rate(s, env))
		err = ERR_CONNECTION_RATE;
	else if (!holding_take(&s->all->connections, s->http.account, &s->counted))
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
	if (s->counted)
		holding_give(&s->all->connections, s->http.account);
	s->counted = false;
}
