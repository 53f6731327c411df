/* gen_resources: opens only the files of certificates, and keeps none of them open. */
#include "master/gen_resources.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/compress.h"
#include "machine/cache_room.h"
#include "machine/user_access.h"
#include "sandbox/sandbox.h"
#include "sites/certs.h"

enum { SITES_MEMORY = 256 << 20 };

/* A configured coding that this build lacks is no fault: files are sent without it. */
static void warn_codings(const struct conf_list *list, const struct conf_pos *at)
{
	if (at->file == NULL || at->outer > 0)
		return;
	for (unsigned i = 0; i < list->n; i++)
		for (unsigned c = 0; c < CODINGS; c++)
			if (slice_eq(coding_names[c], slice_str(list->v[i])) && !compress_has(c))
				log_warn("%s:%u: compress: this h2d was built without %s", at->file,
					at->line, list->v[i]);
}

static void warn_of_servers(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nservers; i++) {
		const struct conf_server *s = &conf->servers[i];

		if (i > 0 && s->at.file == s[-1].at.file && s->at.line == s[-1].at.line)
			continue; /* of one ${host} */
		warn_codings(&s->scope.compress, &s->scope.compress_at);
		for (unsigned j = 0; j < s->nlocations; j++)
			warn_codings(&s->locations[j].scope.compress,
				&s->locations[j].scope.compress_at);
	}
}

static void init_sites(struct resources *r, const struct conf *conf, struct conf_faults *faults)
{
	if (!trees_init(&r->trees, conf, compress_built(), faults))
		return;
	r->sites =
		sites_make(conf, &r->trees, &r->certs, r->client_cas.of_server, &r->memory, faults);
	if (r->sites == NULL)
		return;
	certs_choose(&r->certs, r->sites);
	client_cas_use(&r->client_cas, r->certs.tls);
}

int gen_resources_init(
	struct resources *r, const struct conf *conf, conf_fault_fn *fault, void *ctx)
{
	struct conf_faults faults = { .fn = fault, .ctx = ctx };
	char err[512];

	*r = (struct resources){ 0 };
	arena_init(&r->memory, NULL, 0, SITES_MEMORY);
	warn_codings(&conf->cache.compress, &conf->cache.compress_at);
	warn_of_servers(conf);
	/* All of them: each may report faults. */
	if (privs_find(&r->privs, conf->user, err, sizeof(err)) < 0)
		conf_fault(&faults, &conf->user_at, "%s", err);
	certs_init(&r->certs, conf, &faults);
	client_cas_init(&r->client_cas, conf, &faults);
	/* Without memory for a table of either, it must not be read. */
	if (r->certs.of_server == NULL || r->client_cas.of_server == NULL)
		return -1;
	init_sites(r, conf, &faults);
	return faults.n == 0 && r->sites != NULL ? 0 : -1;
}

/* Two locations apply to a file of the directory, because it has two paths. */
static bool has_writers(const struct site *site, const struct site_upload *u)
{
	char path[4096];

	for (unsigned i = 0; i < site->nlocations; i++)
		if (site->locations[i].store_folder.n > 0)
			return true;
	snprintf(path, sizeof(path), "%.*s/upload", SLICE_ARG(u->dir));
	if (site_location(site, u->form)->writers || site_location(site, slice_str(path))->writers)
		return true;
	snprintf(path, sizeof(path), "%.*s/upload", SLICE_ARG(u->url));
	return site_location(site, slice_str(path))->writers;
}

static void check_uploads(const struct site *site, conf_fault_fn *warn, void *ctx)
{
	char text[256];

	for (const struct site_upload *u = site->uploads; u != site->uploads + site->nuploads;
		u++) {
		if (has_writers(site, u))
			continue;
		snprintf(text, sizeof(text),
			"upload-dir refuses all uploads: set auth-basic-file, allow or "
			"allow-subject for %.*s, or upload-public = true",
			(int)(u->url.n < 100 ? u->url.n : 100), u->url.p);
		warn(ctx, &u->at, text);
	}
}

/* A worker has all of them open, and files and connections use the rest. */
static void check_roots(const struct resources *r, conf_fault_fn *warn, void *ctx)
{
	unsigned n = r->trees.files.nroots;
	struct rlimit limit;
	char text[256];

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || n < sandbox_fewer(limit.rlim_max) / 2)
		return;
	snprintf(text, sizeof(text),
		"%u roots need as many descriptors in each worker, of at most %ju: raise "
		"RLIMIT_NOFILE (LimitNOFILE= of a unit)",
		n, (uintmax_t)sandbox_fewer(limit.rlim_max));
	warn(ctx, &(struct conf_pos){ 0 }, text);
}

void gen_resources_check(
	const struct resources *r, const struct conf *conf, conf_fault_fn *warn, void *ctx)
{
	struct conf_faults warnings = { .fn = warn, .ctx = ctx };

	conf_warn(conf, &warnings);
	certs_check(&r->certs, conf, clock_wall().tv_sec, &warnings);
	client_cas_check(&r->client_cas, conf, clock_wall().tv_sec, &warnings);
	cache_room_check(conf, warn, ctx);
	user_access_check(conf, &r->privs, warn, ctx);
	for (unsigned i = 0; i < r->sites->n; i++) {
		site_locations_warn(&r->sites->v[i], &warnings);
		check_uploads(&r->sites->v[i], warn, ctx);
	}
	check_roots(r, warn, ctx);
}

void gen_resources_expire(struct resources *r, conf_fault_fn *warn)
{
	struct conf_faults warnings = { .fn = warn };
	int64_t now = clock_wall().tv_sec;

	for (unsigned i = 0; i < r->certs.n; i++)
		certs_check_staples(&r->certs.entries[i], now, &warnings);
	for (unsigned i = 0; i < r->client_cas.n; i++)
		client_cas_check_lists(&r->client_cas.entries[i], now, &warnings);
}

void gen_resources_fini(struct resources *r)
{
	certs_fini(&r->certs);
	client_cas_fini(&r->client_cas);
	trees_fini(&r->trees);
	arena_reset(&r->memory);
}
