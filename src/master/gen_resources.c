/*
 * gen_resources: puts together what a generation stands on. Gen calls it for a start and a reload,
 * main for -t. It opens nothing but the files of certificates, and keeps none of them open.
 */
#include "master/gen_resources.h"

#include "base/log.h"
#include "conf/conf_fault.h"
#include "keeper/compress.h"

enum { SITES_MEMORY = 64 << 20 };

static int init_privs(struct resources *r, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	char err[512];

	if (privs_find(&r->privs, conf->user, err, sizeof(err)) == 0)
		return 0;
	fault(ctx, &conf->user_at, err);
	return -1;
}

/* A coding that was asked for and that this build lacks is no fault: files go out without it. */
static void warn_codings(const struct conf *conf)
{
	const struct conf_list *list = &conf->cache.compress;

	if (conf->cache.compress_at.file == NULL)
		return;
	for (unsigned i = 0; i < list->n; i++)
		for (unsigned c = 0; c < CODINGS; c++)
			if (slice_eq(coding_names[c], slice_str(list->v[i])) && !compress_has(c))
				log_warn("%s:%u: compress: this h2d was built without %s",
					conf->cache.compress_at.file, conf->cache.compress_at.line,
					list->v[i]);
}

static int init_sites(struct resources *r, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	if (trees_init(&r->trees, conf, compress_built(), fault, ctx) < 0)
		return -1;
	r->sites = sites_make(conf, &r->trees, r->certs.of_server, &r->memory, fault, ctx);
	if (r->sites == NULL)
		return -1;
	certs_choose(&r->certs, r->sites);
	return 0;
}

int gen_resources_init(
	struct resources *r, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	int rc = 0;

	*r = (struct resources){ 0 };
	arena_init(&r->memory, NULL, 0, SITES_MEMORY);
	warn_codings(conf);
	/* All of them: each may have something to say. */
	rc |= init_privs(r, conf, fault, ctx);
	rc |= certs_init(&r->certs, conf, fault, ctx);
	rc |= init_sites(r, conf, fault, ctx);
	return rc;
}

void gen_resources_fini(struct resources *r)
{
	certs_fini(&r->certs);
	trees_fini(&r->trees);
	arena_reset(&r->memory);
}
