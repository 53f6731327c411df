/*
 * certs: loads the certificates of the sections tls, and the authorities of clients, and gives each
 * server block its own. Checks each of them once, and the names that it is for. The master calls it
 * while it builds a generation, before the fork; it keeps no file open and never changes the
 * configuration.
 */
#include "sites/certs.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tls/tls_staple.h"
#include "tls/tls_tickets.h"

struct loader {
	struct certs *certs;
	struct conf_faults *faults;
	const struct conf_pairs *last_keys; /* of the last loaded */
	const struct tls_cert *last;
};

static const struct certs_entry *certs_find(const struct certs *c, const struct tls_cert *cert)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->entries[i].cert == cert)
			return &c->entries[i];
	return NULL;
}

static void enter(struct loader *l, struct tls_cert *cert, const struct conf_pairs *keys)
{
	struct certs *c = l->certs;
	struct certs_entry *e = &c->entries[c->n];

	if (certs_find(c, cert) != NULL)
		return;
	*e = (struct certs_entry){
		.cert = cert, .keys = keys, .expiries = calloc(cert->npairs, sizeof(*e->expiries))
	};
	if (e->expiries == NULL) {
		conf_fault_oom(l->faults, &conf_command_line);
		return;
	}
	for (unsigned i = 0; i < cert->npairs; i++)
		e->expiries[i] =
			(struct site_expiry){ cert->pairs[i].kind, cert->pairs[i].expires };
	c->n++;
}

static const struct tls_cert *load_files(struct loader *l, const struct conf_pairs *keys)
{
	const struct conf_pos *const at[] = { &keys->certificate_at, &keys->certificate_key_at,
		&keys->stapling_file_at };
	unsigned n = keys->certificate.n;
	struct tls_files *files = calloc(n, sizeof(*files));
	struct tls_cert *cert;
	struct tls_fault fault;

	if (files == NULL) {
		conf_fault_oom(l->faults, &conf_command_line);
		return NULL;
	}
	/* There are as many staples as certificates, or none. */
	for (unsigned i = 0; i < n; i++)
		files[i] = (struct tls_files){ { keys->certificate.v[i], keys->certificate_key.v[i],
			i < keys->stapling_file.n ? keys->stapling_file.v[i] : "" } };
	cert = tls_ctx_add(l->certs->tls, files, n, &fault);
	free(files);
	if (cert != NULL)
		enter(l, cert, keys);
	else
		conf_fault(l->faults, at[fault.in], "%s", fault.text);
	return cert;
}

/* NULL: none is configured there, or after a fault. */
static const struct tls_cert *certs_load(struct loader *l, const struct conf_pairs *keys)
{
	/* One without the other is a fault reported by conf. */
	if (keys->certificate.n == 0 || keys->certificate.n != keys->certificate_key.n)
		return NULL;
	/* Servers made from one share its strings. */
	if (l->last_keys == NULL || keys->certificate.v != l->last_keys->certificate.v) {
		l->last_keys = keys;
		l->last = load_files(l, keys);
	}
	return l->last;
}

static void load_all(struct loader *l, const struct conf *conf)
{
	const struct conf_server *first = &conf->servers[conf_default_server(conf)];

	/* Ordered by the choice of the default. */
	certs_load(l, &conf->tls.pairs);
	l->certs->of_server[first - conf->servers] = certs_load(l, &first->tls.pairs);
	for (unsigned i = 0; i < conf->nservers; i++)
		if (&conf->servers[i] != first)
			l->certs->of_server[i] = certs_load(l, &conf->servers[i].tls.pairs);
	for (unsigned i = 0; i < conf->nservers; i++)
		if (l->certs->of_server[i] == NULL)
			l->certs->of_server[i] = l->certs->tls->first;
}

static void check_ticket_file(const struct conf_tls *tls, struct conf_faults *faults)
{
	struct tls_tickets keys;
	char why[512];

	if (tls->session_ticket_key_file == NULL || *tls->session_ticket_key_file == '\0')
		return;
	if (!tls_tickets_read(tls->session_ticket_key_file, &keys, why, sizeof(why)))
		conf_fault(faults, &tls->session_ticket_key_file_at, "%s", why);
	OPENSSL_cleanse(&keys, sizeof(keys));
}

void certs_init(struct certs *c, const struct conf *conf, struct conf_faults *faults)
{
	struct loader l = { .certs = c, .faults = faults };
	unsigned before = faults->n;
	const struct conf_list *protocols = &conf->tls.protocols;
	struct tls_fault fault;

	*c = (struct certs){ .tls = tls_ctx_new(conf_list_has(protocols, "TLSv1.2"),
				     conf_list_has(protocols, "TLSv1.3")) };
	c->of_server = calloc(conf->nservers, sizeof(*c->of_server));
	/* Section tls has one, and each server. */
	c->entries = calloc(conf->nservers + 1, sizeof(*c->entries));
	if (c->tls == NULL || c->of_server == NULL || c->entries == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	c->tls->rejects = conf->tls.reject_handshake;
	c->tls->no_tickets = !conf->tls.session_tickets;
	if (conf->tls.ciphers != NULL && !tls_suites_check(conf->tls.ciphers, &fault))
		conf_fault(faults, &conf->tls.ciphers_at, "ciphers: %s", fault.text);
	if (conf->tls.groups != NULL && !tls_suites_check_groups(conf->tls.groups, &fault))
		conf_fault(faults, &conf->tls.groups_at, "groups: %s", fault.text);
	check_ticket_file(&conf->tls, faults);
	/* Each certificate would be refused for the fault already reported. */
	if (faults->n == before) {
		c->tls->ciphers = conf->tls.ciphers;
		c->tls->groups = conf->tls.groups;
	}
	load_all(&l, conf);
	if (c->tls->first == NULL)
		tls_ctx_free(&c->tls);
}

static const struct tls_cert *of_name(const void *owner, struct slice name)
{
	const struct site *site = sites_named(owner, name);

	return site != NULL ? site->certificate : NULL;
}

static const struct tls_client_ca *client_ca_of_name(const void *owner, struct slice name)
{
	return sites_find(owner, name)->client_ca;
}

void certs_choose(struct certs *c, const struct client_cas *cas, const struct sites *sites)
{
	if (c->tls == NULL)
		return;
	c->tls->owner = sites;
	c->tls->choose = of_name;
	c->tls->ask = cas->any ? client_ca_of_name : NULL;
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

static void check_time(const struct tls_pair *pair, int64_t now, const struct conf_pos *at,
	struct conf_faults *warnings)
{
	int64_t left = pair->expires - now;
	time_t end = (time_t)pair->expires;
	char date[32];
	struct tm tm;

	if (end == 0 || left > SOON_S)
		return;
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime_r(&end, &tm));
	if (left <= 0)
		conf_fault(warnings, at, "certificate %.300s expired on %s: clients refuse it",
			pair->files[TLS_FILE_CERTIFICATE], date);
	else
		conf_fault(warnings, at, "certificate %.300s expires in %d days, on %s",
			pair->files[TLS_FILE_CERTIFICATE], (int)(left / DAY_S), date);
}

/* True: there is a warning. */
static bool check_staple(const struct certs_entry *e, const struct tls_pair *pair, int64_t now,
	struct conf_faults *warnings)
{
	const struct tls_staple *staple = tls_staple_of(pair->leaf);
	const char *why = staple != NULL ? tls_staple_unfit(staple, now) : NULL;

	if (why != NULL)
		conf_fault(warnings, &e->keys->stapling_file_at,
			"stapling-file %.300s is not sent: %s", pair->files[TLS_FILE_STAPLE], why);
	return why != NULL;
}

static void check_entry(const struct certs_entry *e, int64_t now, struct conf_faults *warnings)
{
	const struct conf_pos *at = &e->keys->certificate_at;
	struct stat st;

	for (unsigned i = 0; i < e->cert->npairs; i++) {
		const struct tls_pair *pair = &e->cert->pairs[i];
		const char *why = tls_pair_doubt(e->cert, pair), *key = pair->files[TLS_FILE_KEY];

		check_time(pair, now, at, warnings);
		check_staple(e, pair, now, warnings);
		if (key != NULL && stat(key, &st) == 0 && (st.st_mode & S_IROTH))
			conf_fault(warnings, &e->keys->certificate_key_at,
				"certificate-key \"%.300s\" is readable by all users: chmod o-r",
				key);
		if (why != NULL)
			conf_fault(warnings, at, "certificate %.200s: %s",
				pair->files[TLS_FILE_CERTIFICATE], why);
	}
}

/* "*.example.com" is covered if some name of it is. */
static void check_name(const struct tls_cert *cert, const char *name, const struct conf_pos *at,
	struct conf_faults *warnings)
{
	char one[256];

	if (strcmp(name, "_") == 0)
		return;
	snprintf(one, sizeof(one), "%s%s", name[0] == '*' ? "a" : "", name + (name[0] == '*'));
	for (unsigned i = 0; i < cert->npairs; i++) {
		const struct tls_pair *pair = &cert->pairs[i];

		if (!tls_pair_covers(pair, slice_str(one)))
			conf_fault(warnings, at,
				"certificate %.400s does not cover \"%.255s\": clients refuse it",
				pair->files[TLS_FILE_CERTIFICATE], name);
	}
}

void certs_check(
	const struct certs *c, const struct conf *conf, int64_t now, struct conf_faults *warnings)
{
	for (unsigned i = 0; i < c->n; i++)
		check_entry(&c->entries[i], now, warnings);
	for (unsigned i = 0; c->tls != NULL && conf_https(conf) != NULL && i < conf->nservers;
		i++) {
		const struct conf_server *s = &conf->servers[i];
		const struct tls_cert *cert = c->of_server[i];

		if (cert == NULL)
			continue;
		check_name(cert, s->name, &s->at, warnings);
		for (unsigned j = 0; j < s->aliases.n; j++)
			check_name(cert, s->aliases.v[j], &s->aliases_at, warnings);
	}
}

void certs_check_staples(struct certs_entry *e, int64_t now, struct conf_faults *warnings)
{
	struct conf_faults none = { 0 };
	bool unfit = false;

	for (unsigned i = 0; i < e->cert->npairs; i++)
		unfit |=
			check_staple(e, &e->cert->pairs[i], now, e->staple_said ? &none : warnings);
	e->staple_said = unfit;
}

/* --- of clients ------------------------------------------------------------------------------- */

static struct tls_client_ca *client_cas_find(
	const struct client_cas *c, const struct conf_server_tls *tls)
{
	for (unsigned i = 0; i < c->n; i++) {
		struct tls_client_ca *ca = c->entries[i].ca;

		if (strcmp(ca->file, tls->client_ca) == 0 && strcmp(ca->crl, tls->client_crl) == 0)
			return ca;
	}
	return NULL;
}

/* NULL: none is configured there, or after a fault. */
static struct tls_client_ca *client_cas_load(
	struct client_cas *c, const struct conf_server_tls *tls, struct conf_faults *faults)
{
	struct tls_client_ca_fault why;
	struct tls_client_ca *ca;

	/* An unreadable file is NULL, and a fault reported by conf. */
	if (tls->client_ca == NULL || *tls->client_ca == '\0' || tls->client_crl == NULL)
		return NULL;
	ca = client_cas_find(c, tls);
	if (ca != NULL)
		return ca;
	ca = tls_client_ca_load(tls->client_ca, tls->client_crl, &why);
	if (ca == NULL) {
		conf_fault(faults, why.in_crl ? &tls->client_crl_at : &tls->client_ca_at, "%s",
			why.text);
		return NULL;
	}
	c->entries[c->n++] = (struct client_cas_entry){ .ca = ca, .tls = tls };
	return ca;
}

void client_cas_init(struct client_cas *c, const struct conf *conf, struct conf_faults *faults)
{
	*c = (struct client_cas){ .of_server = calloc(conf->nservers, sizeof(*c->of_server)),
		.entries = calloc(conf->nservers, sizeof(*c->entries)) };
	if (c->of_server == NULL || c->entries == NULL) {
		conf_fault_oom(faults, &conf_command_line);
		return;
	}
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server_tls *tls = &conf->servers[i].tls;
		const struct tls_client_ca *ca = client_cas_load(c, tls, faults);

		if (tls->client_verify == VERIFY_OFF)
			continue;
		c->of_server[i] = ca;
		c->any |= ca != NULL;
	}
}

/* The first listener that takes requests for all server blocks without asking for certificates;
 * NULL: none. */
static const struct conf_listen *cleartext(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nlistens; i++) {
		const struct conf_listen *l = &conf->listens[i];

		if (!l->tls && !l->admin && !l->redirect_to_https)
			return l;
	}
	return NULL;
}

static void client_cas_check_server(const struct conf_server_tls *tls,
	const struct conf_listen *plain, struct conf_faults *warnings)
{
	if (tls->client_ca == NULL || *tls->client_ca == '\0')
		return;
	if (tls->client_verify == VERIFY_OFF) {
		conf_fault(warnings, &tls->client_ca_at,
			"client-ca does nothing without client-verify = require or optional");
		return;
	}
	if (plain == NULL || tls->client_verify != VERIFY_REQUIRE)
		return;
	conf_fault(warnings, &tls->client_verify_at,
		"client-verify = require does nothing on the cleartext listener \"%.200s\", which "
		"serves all requests",
		plain->address);
}

/* True: there is a warning. */
static bool check_lists(const struct client_cas_entry *e, int64_t now, struct conf_faults *warnings)
{
	char text[1024];

	if (tls_client_ca_doubt(e->ca, now, text, sizeof(text)) == NULL)
		return false;
	conf_fault(warnings, &e->tls->client_crl_at, "%s", text);
	return true;
}

void client_cas_check_lists(struct client_cas_entry *e, int64_t now, struct conf_faults *warnings)
{
	struct conf_faults none = { 0 };

	e->doubt_said = check_lists(e, now, e->doubt_said ? &none : warnings);
}

void client_cas_check(const struct client_cas *c, const struct conf *conf, int64_t now,
	struct conf_faults *warnings)
{
	const struct conf_listen *plain = cleartext(conf);

	for (unsigned i = 0; i < conf->nservers; i++)
		client_cas_check_server(&conf->servers[i].tls, plain, warnings);
	for (unsigned i = 0; i < c->n; i++)
		check_lists(&c->entries[i], now, warnings);
}

void client_cas_fini(struct client_cas *c)
{
	for (unsigned i = 0; i < c->n; i++)
		tls_client_ca_free(&c->entries[i].ca);
	free(c->entries);
	free(c->of_server);
	*c = (struct client_cas){ 0 };
}
