/*
 * certs: loads the certificates that the sections tls name and gives each server block its own.
 * The master calls it while it builds a generation, before the fork; it keeps no file open and
 * never changes the configuration.
 */
#include "sites/certs.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_fault.h"

struct loader {
	struct certs *certs;
	conf_fault_fn *fault;
	void *ctx;
	int rc;
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
	cert = tls_ctx_add(l->certs->tls, pair.certificate, pair.key, &fault);
	if (cert == NULL) {
		l->fault(l->ctx, fault.in_key ? pair.key_at : pair.certificate_at, fault.text);
		l->rc = -1;
	}
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

void certs_fini(struct certs *c)
{
	tls_ctx_free(&c->tls);
	free(c->of_server);
	c->of_server = NULL;
}
