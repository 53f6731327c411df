/*
 * conf_access_log: collects the access logs of the top level and of the servers. Called by conf's
 * checks, by the master and by workers; reads the conf alone.
 */
#include "conf/conf_access_log.h"

#include <string.h>

/* NULL: there is none, or what was set was refused. */
static const char *log_name(const struct conf_log *log)
{
	return log->access_log != NULL && strcmp(log->access_log, "off") != 0 ? log->access_log
									      : NULL;
}

static int log_find(const struct conf_access_logs *all, const char *name)
{
	for (unsigned i = 0; name != NULL && i < all->n; i++)
		if (strcmp(all->v[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void log_add(struct conf_access_logs *all, const struct conf_log *log)
{
	const char *name = log_name(log);

	if (name == NULL || log_find(all, name) >= 0)
		return;
	if (all->n < CONF_ACCESS_LOGS_MAX) {
		all->v[all->n].name = name;
		all->v[all->n++].at = &log->access_log_at;
	} else if (all->one_more == NULL) {
		all->one_more = &log->access_log_at;
	}
}

void conf_access_logs(const struct conf *conf, struct conf_access_logs *out)
{
	out->n = 0;
	out->one_more = NULL;
	log_add(out, &conf->log);
	for (unsigned i = 0; i < conf->nservers; i++)
		log_add(out, &conf->servers[i].log);
}

struct conf_access_log conf_access_log(
	const struct conf *conf, const struct conf_access_logs *all, unsigned i)
{
	const struct conf_log *log = i < conf->nservers ? &conf->servers[i].log : &conf->log;

	return (struct conf_access_log){
		.log = log_find(all, log_name(log)),
		.format = (enum access_format)log->access_log_format,
		.skip = &log->access_log_skip,
	};
}
