/*
 * upload_access: asks the locations that decide about a file of the folder, by both of its paths.
 * Called by reload.c for a start or a reload, and by main for -t; never touches the file system.
 */
#include "master/upload_access.h"

#include <stdio.h>

static bool has_writers(const struct site *site)
{
	char path[4096];

	snprintf(path, sizeof(path), "%.*s/upload", SLICE_ARG(site->uploads));
	return site_location(site, SLICE("/files"))->writers ||
	       site_location(site, SLICE("/files/upload"))->writers ||
	       site_location(site, slice_str(path))->writers;
}

void upload_access_check(
	const struct conf *conf, const struct sites *sites, conf_fault_fn *warn, void *ctx)
{
	for (unsigned i = 0; i < sites->n; i++)
		if (sites->v[i].uploads.n > 0 && !has_writers(&sites->v[i]))
			warn(ctx, &conf->servers[i].upload_dir_at,
				"upload-dir: nobody may write there: it takes an auth-basic-file "
				"or an allow list for /files, or upload-public = true");
}
