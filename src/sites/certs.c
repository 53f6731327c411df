/*
 * certs: loads the certificates of the sections tls and gives each server block its own. Checks
 * each of them once, and the names that it is for. The master calls it while it builds a
 * generation, before the fork; it keeps no file open and never changes the configuration.
 */
#include "sites/certs.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "conf/conf_fault.h"
#include "tls/tls_staple.h"
#include "tls/tls_suites.h"
#include "tls/tls_tickets.h"

struct loader {
	struct certs *certs;
	conf_fault_fn *fault;
	void *ctx;
	int rc;
	const struct conf_list *last_names; /* of the last loaded */
	const struct tls_cert *last;
};

#define KEYS(tls) \
	((struct certs_keys){ \
		{ &(tls)->certificate, &(tls)->certificate_key, &(tls)->stapling_file }, \
		{ &(tls)->certificate_at, &(tls)->certificate_key_at, \
			&(tls)->stapling_file_at } })

static void certs_refuse(struct loader *l, const struct conf_pos *at, const char *why)
{
	l->fault(l->ctx, at, why);
	l->rc = -1;
}

static const struct certs_entry *certs_find(const struct certs *c, const struct tls_cert *cert)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->entries[i].cert == cert)
			return &c->entries[i];
	return NULL;
}

static void enter(struct loader *l, struct tls_cert *cert, const struct certs_keys *keys)
{
	struct certs *c = l->certs;
	struct certs_entry *e = &c->entries[c->n];

	if (certs_find(c, cert) != NULL)
		return;
	*e = (struct certs_entry){
		.cert = cert, .keys = *keys, .expiries = calloc(cert->npairs, sizeof(*e->expiries))
	};
	if (e->expiries == NULL) {
		certs_refuse(l, &conf_command_line, "out of memory");
		return;
	}
	for (unsigned i = 0; i < cert->npairs; i++)
		e->expiries[i] =
			(struct site_expiry){ cert->pairs[i].kind, cert->pairs[i].expires };
	c->n++;
}

static const struct tls_cert *load_files(struct loader *l, const struct certs_keys *keys)
{
	unsigned n = keys->names[TLS_FILE_CERTIFICATE]->n;
	struct tls_files *files = calloc(n, sizeof(*files));
	struct tls_cert *cert;
	struct tls_fault fault;

	if (files == NULL) {
		certs_refuse(l, &conf_command_line, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < TLS_FILES; k++)
			files[i].name[k] = i < keys->names[k]->n ? keys->names[k]->v[i] : "";
	cert = tls_ctx_add(l->certs->tls, files, n, &fault);
	free(files);
	if (cert != NULL)
		enter(l, cert, keys);
	else
		certs_refuse(l, keys->at[fault.in], fault.text);
	return cert;
}

/* NULL: none is configured there, or after a fault. */
static const struct tls_cert *certs_load(struct loader *l, struct certs_keys keys)
{
	const struct conf_list *names = keys.names[TLS_FILE_CERTIFICATE];

	/* One without the other is a fault reported by conf. */
	if (names->n == 0 || names->n != keys.names[TLS_FILE_KEY]->n)
		return NULL;
	/* Servers made from one share its strings. */
	if (l->last_names == NULL || names->v != l->last_names->v) {
		l->last_names = names;
		l->last = load_files(l, &keys);
	}
	return l->last;
}

static void load_all(struct loader *l, const struct conf *conf)
{
	const struct conf_server *first = &conf->servers[conf_default_server(conf)];

	/* Ordered by the choice of the default. */
	certs_load(l, KEYS(&conf->tls));
	l->certs->of_server[first - conf->servers] = certs_load(l, KEYS(&first->tls));
	for (unsigned i = 0; i < conf->nservers; i++)
		if (&conf->servers[i] != first)
			l->certs->of_server[i] = certs_load(l, KEYS(&conf->servers[i].tls));
	for (unsigned i = 0; i < conf->nservers; i++)
		if (l->certs->of_server[i] == NULL)
			l->certs->of_server[i] = l->certs->tls->first;
}

static void check_words(struct loader *l, const struct conf_tls *tls)
{
	struct tls_fault fault;
	char text[600];

	if (tls->ciphers != NULL && !tls_suites_check(tls->ciphers, &fault)) {
		snprintf(text, sizeof(text), "ciphers: %s", fault.text);
		certs_refuse(l, &tls->ciphers_at, text);
	}
	if (tls->groups != NULL && !tls_suites_check_groups(tls->groups, &fault)) {
		snprintf(text, sizeof(text), "groups: %s", fault.text);
		certs_refuse(l, &tls->groups_at, text);
	}
}

static void check_ticket_file(struct loader *l, const struct conf_tls *tls)
{
	struct tls_tickets keys;
	char why[512];

	if (tls->session_ticket_key_file == NULL || *tls->session_ticket_key_file == '\0')
		return;
	if (!tls_tickets_read(tls->session_ticket_key_file, &keys, why, sizeof(why)))
		certs_refuse(l, &tls->session_ticket_key_file_at, why);
	OPENSSL_cleanse(&keys, sizeof(keys));
}

int certs_init(struct certs *c, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	struct loader l = { .certs = c, .fault = fault, .ctx = ctx };
	bool tls12 = false, tls13 = false;

	for (unsigned i = 0; i < conf->tls.protocols.n; i++) {
		tls12 |= strcmp(conf->tls.protocols.v[i], "TLSv1.2") == 0;
		tls13 |= strcmp(conf->tls.protocols.v[i], "TLSv1.3") == 0;
	}
	*c = (struct certs){ .tls = tls_ctx_new(tls12, tls13) };
	c->of_server = calloc(conf->nservers, sizeof(*c->of_server));
	/* Section tls has one, and each server. */
	c->entries = calloc(conf->nservers + 1, sizeof(*c->entries));
	if (c->tls == NULL || c->of_server == NULL || c->entries == NULL) {
		fault(ctx, &conf_command_line, "out of memory");
		return -1;
	}
	c->tls->rejects = conf->tls.reject_handshake;
	c->tls->no_tickets = !conf->tls.session_tickets;
	check_words(&l, &conf->tls);
	check_ticket_file(&l, &conf->tls);
	/* Each certificate would be refused for the fault already reported. */
	if (l.rc == 0) {
		c->tls->ciphers = conf->tls.ciphers;
		c->tls->groups = conf->tls.groups;
	}
	load_all(&l, conf);
	if (c->tls->first == NULL)
		tls_ctx_free(&c->tls);
	return l.rc;
}

static const struct tls_cert *of_name(const void *owner, struct slice name)
{
	const struct site *site = sites_named(owner, name);

	return site != NULL ? site->certificate : NULL;
}

void certs_choose(struct certs *c, const struct sites *sites)
{
	if (c->tls == NULL)
		return;
	c->tls->owner = sites;
	c->tls->choose = of_name;
}

const struct site_expiry *certs_expiries(const struct certs *c, unsigned server, unsigned *n)
{
	const struct certs_entry *e = certs_find(c, c->of_server[server]);

	*n = e != NULL ? e->cert->npairs : 0;
	return e != NULL ? e->expiries : NULL;
}

int64_t certs_expire(const struct certs *c)
{
	int64_t first = 0;

	for (unsigned i = 0; i < c->n; i++) {
		const struct certs_entry *e = &c->entries[i];

		for (unsigned k = 0; k < e->cert->npairs; k++)
			if (e->expiries[k].at != 0 && (first == 0 || e->expiries[k].at < first))
				first = e->expiries[k].at;
	}
	return first;
}

void certs_fini(struct certs *c)
{
	tls_ctx_free(&c->tls);
	for (unsigned i = 0; i < c->n; i++)
		free(c->entries[i].expiries);
	free(c->entries);
	free(c->of_server);
	*c = (struct certs){ 0 };
}

/* --- warnings --------------------------------------------------------------------------------- */

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
		snprintf(text, sizeof(text), "certificate %.300s expired on %s: clients refuse it",
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
	snprintf(text, sizeof(text), "stapling-file %.300s is not sent: %s",
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
		"certificate-key \"%.300s\" is readable by all users: chmod o-r", key);
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
			"certificate %.400s does not cover \"%.255s\": clients refuse it",
			pair->files[TLS_FILE_CERTIFICATE], name);
		k->warn(k->ctx, at, text);
	}
}

static void check_cert_names(
	const struct checker *k, const struct conf_server *s, const struct tls_cert *cert)
{
	if (s->name != NULL)
		check_name(k, cert, s->name, &s->at);
	for (unsigned i = 0; i < s->aliases.n; i++)
		check_name(k, cert, s->aliases.v[i], &s->aliases_at);
}

void certs_check(
	const struct certs *c, const struct conf *conf, int64_t now, conf_fault_fn *warn, void *ctx)
{
	const struct checker k = { .now = now, .warn = warn, .ctx = ctx };

	for (unsigned i = 0; i < c->n; i++)
		check_entry(&k, &c->entries[i]);
	for (unsigned i = 0; c->tls != NULL && conf_https(conf) != NULL && i < conf->nservers; i++)
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
