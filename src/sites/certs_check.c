/*
 * certs_check: looks at each certificate once, and at the names of each server block that it is
 * shown for. It changes nothing, and reads nothing but what this machine trusts.
 */
#include "sites/certs_check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tls/tls_staple.h"

enum { DAY_S = 86400, SOON_S = 14 * DAY_S };

struct checker {
	int64_t now;
	conf_fault_fn *warn;
	void *ctx;
};

static void check_time(
	const struct checker *k, const struct tls_pair *pair, const struct conf_pos *at)
{
	int64_t left = pair->expires - k->now;
	time_t end = (time_t)pair->expires;
	char text[512], date[32];
	struct tm tm;

	if (end == 0 || left > SOON_S)
		return;
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime_r(&end, &tm));
	if (left <= 0)
		snprintf(text, sizeof(text),
			"certificate %.300s has expired on %s: clients refuse it",
			pair->files[TLS_FILE_CERTIFICATE], date);
	else
		snprintf(text, sizeof(text), "certificate %.300s expires in %d days, on %s",
			pair->files[TLS_FILE_CERTIFICATE], (int)(left / DAY_S), date);
	k->warn(k->ctx, at, text);
}

static void check_staple(
	const struct checker *k, const struct tls_pair *pair, const struct conf_pos *at)
{
	const struct tls_staple *staple = tls_staple_of(pair->leaf);
	const char *why = staple != NULL ? tls_staple_unfit(staple, k->now) : NULL;
	char text[512];

	if (why == NULL)
		return;
	snprintf(text, sizeof(text), "stapling-file %.300s: %s: it is not sent",
		pair->files[TLS_FILE_STAPLE], why);
	k->warn(k->ctx, at, text);
}

static void check_key(
	const struct checker *k, const struct tls_pair *pair, const struct conf_pos *at)
{
	const char *key = pair->files[TLS_FILE_KEY];
	struct stat st;
	char text[512];

	if (key == NULL || stat(key, &st) < 0 || !(st.st_mode & S_IROTH))
		return;
	snprintf(text, sizeof(text),
		"certificate-key \"%.300s\": everybody on this machine may read it: chmod o-r",
		key);
	k->warn(k->ctx, at, text);
}

static void check_entry(const struct checker *k, const struct certs_entry *e)
{
	const struct conf_pos *at = e->keys.at[TLS_FILE_CERTIFICATE];
	char text[512];

	for (unsigned i = 0; i < e->cert->npairs; i++) {
		const struct tls_pair *pair = &e->cert->pairs[i];
		const char *why = tls_pair_doubt(e->cert, pair);

		check_time(k, pair, at);
		check_staple(k, pair, e->keys.at[TLS_FILE_STAPLE]);
		check_key(k, pair, e->keys.at[TLS_FILE_KEY]);
		if (why == NULL)
			continue;
		snprintf(text, sizeof(text), "certificate %.200s: %s",
			pair->files[TLS_FILE_CERTIFICATE], why);
		k->warn(k->ctx, at, text);
	}
}

/* "*.example.com" is covered if some name of it is. */
static void check_name(const struct checker *k, const struct tls_cert *cert, const char *name,
	const struct conf_pos *at)
{
	char one[256], text[1024];

	if (strcmp(name, "_") == 0)
		return;
	snprintf(one, sizeof(one), "%s%s", name[0] == '*' ? "a" : "", name + (name[0] == '*'));
	for (unsigned i = 0; i < cert->npairs; i++) {
		const struct tls_pair *pair = &cert->pairs[i];

		if (tls_pair_covers(pair, slice_str(one)))
			continue;
		snprintf(text, sizeof(text),
			"certificate %.400s is not good for \"%.255s\": clients refuse it",
			pair->files[TLS_FILE_CERTIFICATE], name);
		k->warn(k->ctx, at, text);
	}
}

static void check_cert_names(
	const struct checker *k, const struct conf_server *s, const struct tls_cert *cert)
{
	if (s->name != NULL)
		check_name(k, cert, s->name, &s->at);
	for (unsigned i = 0; i < s->server_name.n; i++)
		check_name(k, cert, s->server_name.v[i], &s->server_name_at);
}

/* Clients may ask for names over TLS. */
static bool listens(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nlistens; i++)
		if (conf->listens[i].tls && !conf->listens[i].admin)
			return true;
	return false;
}

void certs_check(
	const struct certs *c, const struct conf *conf, int64_t now, conf_fault_fn *warn, void *ctx)
{
	const struct checker k = { .now = now, .warn = warn, .ctx = ctx };

	for (unsigned i = 0; i < c->n; i++)
		check_entry(&k, &c->entries[i]);
	for (unsigned i = 0; c->tls != NULL && listens(conf) && i < conf->nservers; i++)
		if (c->of_server[i] != NULL)
			check_cert_names(&k, &conf->servers[i], c->of_server[i]);
}

void certs_check_staples(struct certs_entry *e, int64_t now, conf_fault_fn *warn, void *ctx)
{
	const struct checker k = { .now = now, .warn = warn, .ctx = ctx };
	bool unfit = false;

	for (unsigned i = 0; i < e->cert->npairs; i++) {
		const struct tls_pair *pair = &e->cert->pairs[i];
		const struct tls_staple *staple = tls_staple_of(pair->leaf);

		if (staple == NULL || tls_staple_unfit(staple, now) == NULL)
			continue;
		unfit = true;
		if (!e->staple_said && warn != NULL)
			check_staple(&k, pair, e->keys.at[TLS_FILE_STAPLE]);
	}
	e->staple_said = unfit;
}
