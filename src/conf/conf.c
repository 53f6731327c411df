/*
 * conf: what a configuration that was built says of itself, and its end. Called by those who build
 * it and those who use it; looks at nothing but the conf.
 */
#include "conf/conf.h"

#include <stdlib.h>
#include <string.h>

unsigned conf_default_server(const struct conf *conf)
{
	for (unsigned i = 0; i < conf->nservers; i++)
		if (conf->servers[i].name != NULL && strcmp(conf->servers[i].name, "_") == 0)
			return i;
	return 0;
}

void conf_free(struct conf **conf)
{
	if (*conf == NULL)
		return;
	arena_reset(&(*conf)->arena);
	free(*conf);
	*conf = NULL;
}

/* NULL was refused: it was meant to be there. */
static bool is_named(const char *path)
{
	return path == NULL || *path != '\0';
}

bool conf_has_certificate(const struct conf *conf)
{
	if (is_named(conf->tls.certificate) || is_named(conf->tls.certificate_key))
		return true;
	for (unsigned i = 0; i < conf->nservers; i++)
		if (is_named(conf->servers[i].tls.certificate) ||
			is_named(conf->servers[i].tls.certificate_key))
			return true;
	return false;
}
