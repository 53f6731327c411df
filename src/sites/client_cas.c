/*
 * client_cas: loads the authorities of the servers' sections tls. The master calls it while it
 * builds a generation; it keeps no file open and never changes the configuration.
 */
#include "sites/client_cas.h"

#include <stdlib.h>
#include <string.h>

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

static const struct tls_client_ca *of_name(const void *owner, struct slice name)
{
	const struct sites *sites = owner;
	const struct site *site = sites_named(sites, name);

	return site != NULL ? site->client_ca : sites->v[sites->fallback].client_ca;
}

void client_cas_use(const struct client_cas *c, struct tls_ctx *tls)
{
	if (tls != NULL && c->any)
		tls->ask = of_name;
}

/* --- warnings --------------------------------------------------------------------------------- */

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
