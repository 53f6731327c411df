/*
 * client_cas: loads the authorities that sections tls of servers name. The master calls it while it
 * builds a generation, before the fork; it keeps no file open and never changes the configuration.
 */
#include "sites/client_cas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_fault.h"

static struct tls_client_ca *find(const struct client_cas *c, const struct conf_server_tls *tls)
{
	struct tls_client_ca *ca = c->first;

	while (ca != NULL &&
		(strcmp(ca->file, tls->client_ca) != 0 || strcmp(ca->crl, tls->crl) != 0))
		ca = ca->next;
	return ca;
}

/* NULL if none is configured there, or after a fault. */
static struct tls_client_ca *load(
	struct client_cas *c, const struct conf_server_tls *tls, conf_fault_fn *fault, void *ctx)
{
	struct tls_client_ca_fault why;
	struct tls_client_ca *ca;

	/* A file that cannot be read is NULL, and a fault of conf's. */
	if (tls->client_ca == NULL || *tls->client_ca == '\0' || tls->crl == NULL)
		return NULL;
	ca = find(c, tls);
	if (ca != NULL)
		return ca;
	ca = tls_client_ca_load(tls->client_ca, tls->crl, &why);
	if (ca == NULL) {
		fault(ctx, why.in_crl ? &tls->crl_at : &tls->client_ca_at, why.text);
		return NULL;
	}
	ca->next = c->first;
	c->first = ca;
	return ca;
}

int client_cas_init(struct client_cas *c, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	int rc = 0;

	*c = (struct client_cas){ .of_server = calloc(conf->nservers, sizeof(*c->of_server)) };
	if (c->of_server == NULL) {
		fault(ctx, &conf_command_line, "out of memory");
		return -1;
	}
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server_tls *tls = &conf->servers[i].tls;
		const struct tls_client_ca *ca = load(c, tls, fault, ctx);

		if (ca == NULL && (tls->client_ca == NULL || *tls->client_ca != '\0'))
			rc = -1;
		if (tls->verify == SITE_VERIFY_OFF)
			continue;
		c->of_server[i] = ca;
		c->any |= ca != NULL;
	}
	return rc;
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

/* --- what an operator should know ------------------------------------------------------------- */

/* The first listener where requests come for all server blocks, and no handshake asks for
 * anything; NULL: there is none. */
static const struct conf_listen *cleartext(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nlistens; i++) {
		const struct conf_listen *l = &conf->listens[i];

		if (!l->tls && !l->admin && !l->redirect_to_https)
			return l;
	}
	return NULL;
}

static void check_server(const struct conf_server_tls *tls, const struct conf_listen *plain,
	conf_fault_fn *warn, void *ctx)
{
	char text[512];

	if (tls->client_ca == NULL || *tls->client_ca == '\0')
		return;
	if (tls->verify == SITE_VERIFY_OFF) {
		warn(ctx, &tls->client_ca_at,
			"client-ca: nobody is asked for a certificate: verify = require or "
			"optional says who is");
		return;
	}
	if (plain == NULL || tls->verify != SITE_VERIFY_REQUIRE)
		return;
	snprintf(text, sizeof(text),
		"verify = require: nobody is asked on the cleartext listener \"%.200s\": there "
		"every request is served",
		plain->address);
	warn(ctx, &tls->verify_at, text);
}

static const struct conf_pos *line_of(const struct tls_client_ca *ca, const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server_tls *tls = &conf->servers[i].tls;

		if (strcmp(tls->crl, ca->crl) == 0 && strcmp(tls->client_ca, ca->file) == 0)
			return &tls->crl_at;
	}
	return &conf_command_line;
}

void client_cas_check(const struct client_cas *c, const struct conf *conf, int64_t now,
	conf_fault_fn *warn, void *ctx)
{
	const struct conf_listen *plain = cleartext(conf);
	char text[1024];

	for (unsigned i = 0; i < conf->nservers; i++)
		check_server(&conf->servers[i].tls, plain, warn, ctx);
	for (const struct tls_client_ca *ca = c->first; ca != NULL; ca = ca->next)
		if (tls_client_ca_doubt(ca, now, text, sizeof(text)) != NULL)
			warn(ctx, line_of(ca, conf), text);
}

void client_cas_fini(struct client_cas *c)
{
	while (c->first != NULL) {
		struct tls_client_ca *ca = c->first;

		c->first = ca->next;
		tls_client_ca_free(&ca);
	}
	free(c->of_server);
	c->of_server = NULL;
}
