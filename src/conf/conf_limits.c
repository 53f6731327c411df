/*
 * conf_limits: looks at section limits, and at servers and locations, which may have limits of
 * their own and else have those of what is around them. Called by conf_warn.
 */
#include "conf/conf_limits.h"

#include <stdio.h>
#include <string.h>

static bool scope_has_any(const struct conf_scope *p)
{
	return p->requests_per_second > 0 || p->bytes_per_second > 0 ||
	       p->connection_bytes_per_second > 0;
}

static bool server_has_any(const struct conf_server *s)
{
	bool any = scope_has_any(&s->scope);

	for (unsigned i = 0; i < s->nlocations; i++)
		any |= scope_has_any(&s->locations[i].scope);
	return any;
}

static bool limits_any(const struct conf *conf)
{
	const struct conf_limits *l = &conf->limits;
	bool any = l->requests_per_second > 0 || l->new_connections_per_second > 0 ||
		   l->connections_per_client > 0 || l->uploads_per_client > 0 ||
		   l->bytes_per_second > 0 || l->connection_bytes_per_second > 0;

	for (unsigned i = 0; i < conf->nservers; i++)
		any |= server_has_any(&conf->servers[i]);
	return any;
}

/* --- what has nothing to act on --------------------------------------------------------------- */

struct checker {
	struct conf_said *said;
	conf_fault_fn *warn;
	void *ctx;
};

static void conf_limits_say(const struct checker *k, const struct conf_pos *at, const char *text)
{
	if (!conf_said(k->said, at, text))
		k->warn(k->ctx, at, text);
}

static void check_burst(
	const struct checker *k, uint64_t burst, const struct conf_pos *at, bool has_rate)
{
	if (at->file != NULL && at->outer == 0 && burst > 0 && !has_rate)
		conf_limits_say(k, at, "requests-burst does nothing without requests-per-second");
}

/* True: a rate holds somewhere in it. */
static bool check_server_limits(const struct checker *k, const struct conf_server *s)
{
	bool any = s->scope.requests_per_second > 0;

	for (unsigned i = 0; i < s->nlocations; i++) {
		const struct conf_scope *p = &s->locations[i].scope;
		bool here = p->requests_per_second > 0;

		check_burst(k, p->requests_burst, &p->requests_burst_at, here);
		any |= here;
	}
	check_burst(k, s->scope.requests_burst, &s->scope.requests_burst_at, any);
	return any;
}

static bool is_everybody(const char *range)
{
	size_t n = strlen(range);

	return strcmp(range, "all") == 0 || (n >= 2 && strcmp(range + n - 2, "/0") == 0);
}

static void check_exempt(const struct checker *k, const struct conf_limits *l, bool any)
{
	char text[256];

	for (unsigned i = 0; i < l->limit_exempt.n; i++) {
		if (!is_everybody(l->limit_exempt.v[i]))
			continue;
		snprintf(text, sizeof(text), "limit-exempt \"%.100s\": limits hold for nobody",
			l->limit_exempt.v[i]);
		conf_limits_say(k, &l->limit_exempt_at, text);
	}
	if (l->limit_exempt.n > 0 && !any)
		conf_limits_say(k, &l->limit_exempt_at,
			"limit-exempt does nothing: there is no limit by client, as "
			"requests-per-second is");
	if (l->limit_dry_run && !any)
		conf_limits_say(k, &l->limit_dry_run_at,
			"limit-dry-run does nothing: there is no limit by client, as "
			"requests-per-second is");
}

void conf_limits_check(
	const struct conf *conf, struct conf_said *said, conf_fault_fn *warn, void *ctx)
{
	const struct checker k = { .said = said, .warn = warn, .ctx = ctx };
	const struct conf_limits *l = &conf->limits;
	bool rate = l->requests_per_second > 0;

	for (unsigned i = 0; i < conf->nservers; i++)
		rate |= check_server_limits(&k, &conf->servers[i]);
	check_burst(&k, l->requests_burst, &l->requests_burst_at, rate);
	check_exempt(&k, l, limits_any(conf));
}
