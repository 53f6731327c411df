/*
 * certs: loads the certificates that the sections tls name and gives each server block its own.
 * The master calls it while it builds a generation, before the fork; it keeps no file open and
 * never changes the configuration.
 */
#include "sites/certs.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf/conf_fault.h"
#include "net/tls_look.h"
#include "net/tls_suites.h"
#include "net/tls_ticket_file.h"

enum { DAY_S = 86400, SOON_S = 14 * DAY_S };

struct loader {
	struct certs *certs;
	conf_fault_fn *fault;
	void *ctx;
	int rc;
	const char *last_name; /* of the certificate that was loaded last */
	const struct tls_cert *last;
};

/* A pair of keys certificate and certificate-key, of either section tls. */
struct pair {
	const char *certificate, *key;
	const struct conf_pos *certificate_at, *key_at;
};

#define PAIR(tls) \
	((struct pair){ (tls)->certificate, (tls)->certificate_key, &(tls)->certificate_at, \
		&(tls)->certificate_key_at })

/* NULL if none is configured there, or after a fault. */
static const struct tls_cert *load(struct loader *l, struct pair pair)
{
	const struct tls_cert *cert;
	struct tls_fault fault;

	/* One without the other is a fault of conf's. */
	if (pair.certificate[0] == '\0' || pair.key[0] == '\0')
		return NULL;
	/* Servers that were made of one have its very string. */
	if (pair.certificate == l->last_name)
		return l->last;
	cert = tls_ctx_add(l->certs->tls, pair.certificate, pair.key, &fault);
	if (cert == NULL) {
		l->fault(l->ctx, fault.in_key ? pair.key_at : pair.certificate_at, fault.text);
		l->rc = -1;
	}
	l->last_name = pair.certificate;
	l->last = cert;
	return cert;
}

static void load_all(struct loader *l, const struct conf *conf)
{
	const struct conf_server *first = &conf->servers[conf_default_server(conf)];

	/* In the order of who is the default if the one before has none. */
	load(l, PAIR(&conf->tls));
	l->certs->of_server[first - conf->servers] = load(l, PAIR(&first->tls));
	for (unsigned i = 0; i < conf->nservers; i++)
		if (&conf->servers[i] != first)
			l->certs->of_server[i] = load(l, PAIR(&conf->servers[i].tls));
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
		l->fault(l->ctx, &tls->ciphers_at, text);
		l->rc = -1;
	}
	if (tls->curves != NULL && !tls_suites_check_curves(tls->curves, &fault)) {
		snprintf(text, sizeof(text), "curves: %s", fault.text);
		l->fault(l->ctx, &tls->curves_at, text);
		l->rc = -1;
	}
}

static void check_ticket_file(struct loader *l, const struct conf_tls *tls)
{
	struct tls_tickets keys;
	char why[512];

	if (tls->session_ticket_key_file == NULL || *tls->session_ticket_key_file == '\0')
		return;
	if (!tls_ticket_file_read(tls->session_ticket_key_file, &keys, why, sizeof(why))) {
		l->fault(l->ctx, &tls->session_ticket_key_file_at, why);
		l->rc = -1;
	}
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
	if (c->tls == NULL || c->of_server == NULL) {
		fault(ctx, &conf_command_line, "out of memory");
		return -1;
	}
	c->tls->rejects = conf->tls.reject_handshake;
	c->tls->no_tickets = !conf->tls.session_tickets;
	c->tls->key_updates = (uint32_t)conf->limits.key_updates;
	check_words(&l, &conf->tls);
	check_ticket_file(&l, &conf->tls);
	/* Each certificate would be refused for what was said of the words. */
	if (l.rc == 0) {
		c->tls->ciphers = conf->tls.ciphers;
		c->tls->curves = conf->tls.curves;
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

/* --- what an operator should know ------------------------------------------------------------- */

struct checker {
	int64_t now;
	bool listens; /* somebody may ask for names over TLS */
	conf_fault_fn *warn;
	void *ctx;
};

static void check_time(
	const struct checker *k, const struct tls_cert *cert, const struct conf_pos *at)
{
	time_t end = (time_t)tls_look_expires(cert);
	int64_t left = end - k->now;
	char text[512], date[32];
	struct tm tm;

	if (end == 0 || left > SOON_S)
		return;
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime_r(&end, &tm));
	if (left <= 0)
		snprintf(text, sizeof(text),
			"certificate %.300s has expired on %s: clients refuse it",
			cert->certificate, date);
	else
		snprintf(text, sizeof(text), "certificate %.300s expires in %d days, on %s",
			cert->certificate, (int)(left / DAY_S), date);
	k->warn(k->ctx, at, text);
}

static void check_pair(const struct checker *k, const struct tls_cert *cert, struct pair pair)
{
	char text[512];
	const char *why;

	if (pair.certificate[0] == '\0' || cert == NULL)
		return;
	check_time(k, cert, pair.certificate_at);
	why = tls_look_chain(cert);
	if (why == NULL)
		return;
	snprintf(text, sizeof(text), "certificate %.200s: %s", cert->certificate, why);
	k->warn(k->ctx, pair.certificate_at, text);
}

/* "*.example.com" is covered if some name of it is. */
static void check_name(const struct checker *k, const struct tls_cert *cert, const char *name,
	const struct conf_pos *at)
{
	char one[256], text[1024];

	if (strcmp(name, "_") == 0)
		return;
	snprintf(one, sizeof(one), "%s%s", name[0] == '*' ? "a" : "", name + (name[0] == '*'));
	if (tls_cert_covers(cert, slice_str(one)))
		return;
	snprintf(text, sizeof(text),
		"certificate %.400s is not good for \"%.255s\": clients refuse it",
		cert->certificate, name);
	k->warn(k->ctx, at, text);
}

static void check_server(
	const struct checker *k, const struct conf_server *s, const struct tls_cert *cert)
{
	check_pair(k, cert, PAIR(&s->tls));
	if (!k->listens)
		return;
	if (s->name != NULL)
		check_name(k, cert, s->name, &s->at);
	for (unsigned i = 0; i < s->server_name.n; i++)
		check_name(k, cert, s->server_name.v[i], &s->server_name_at);
}

void certs_check(
	const struct certs *c, const struct conf *conf, int64_t now, conf_fault_fn *warn, void *ctx)
{
	struct checker k = { .now = now, .warn = warn, .ctx = ctx };

	if (c->tls == NULL)
		return;
	for (unsigned i = 0; i < conf->nlistens; i++)
		k.listens |= conf->listens[i].tls && !conf->listens[i].admin;
	check_pair(&k, c->tls->first, PAIR(&conf->tls));
	for (unsigned i = 0; i < conf->nservers; i++)
		check_server(&k, &conf->servers[i], c->of_server[i]);
}

int64_t certs_expire(const struct certs *c)
{
	int64_t first = 0;

	for (const struct tls_cert *cert = c->tls != NULL ? c->tls->certs : NULL; cert != NULL;
		cert = cert->next) {
		int64_t end = tls_look_expires(cert);

		if (end != 0 && (first == 0 || end < first))
			first = end;
	}
	return first;
}

void certs_fini(struct certs *c)
{
	tls_ctx_free(&c->tls);
	free(c->of_server);
	c->of_server = NULL;
}
