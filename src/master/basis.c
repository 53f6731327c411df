/*
 * basis: puts together what a generation stands on. Called by gen and by main for -t; opens nothing but
 * the files of certificates, and keeps none of them open.
 */
#include "master/basis.h"

#include "base/log.h"
#include "cache/compress.h"
#include "conf/conf_fault.h"

enum { SITES_MEMORY = 64 << 20 };

static int init_privs(struct basis *b, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	char err[512];

	if (privs_find(&b->privs, conf->user, err, sizeof(err)) == 0)
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

static int init_sites(struct basis *b, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	if (trees_init(&b->trees, conf) < 0) {
		fault(ctx, &conf_command_line, "out of memory");
		return -1;
	}
	b->sites = sites_make(conf, &b->trees, b->certs.of_server, &b->memory, fault, ctx);
	if (b->sites == NULL)
		return -1;
	certs_choose(&b->certs, b->sites);
	return 0;
}

int basis_init(struct basis *b, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	int rc = 0;

	*b = (struct basis){ 0 };
	arena_init(&b->memory, NULL, 0, SITES_MEMORY);
	warn_codings(conf);
	/* All of them: each may have something to say. */
	rc |= init_privs(b, conf, fault, ctx);
	rc |= certs_init(&b->certs, conf, fault, ctx);
	rc |= init_sites(b, conf, fault, ctx);
	return rc;
}

void basis_fini(struct basis *b)
{
	certs_fini(&b->certs);
	trees_fini(&b->trees);
	arena_reset(&b->memory);
}
