/*
 * conf_access_log: which access logs a configuration has, each of them once, and which one the
 * requests of a server go to. The master opens them in this order, and hands the descriptors in
 * this order to workers.
 */
#ifndef H2D_CONF_CONF_ACCESS_LOG_H
#define H2D_CONF_CONF_ACCESS_LOG_H

#include "conf/conf.h"

/* Each is a descriptor in every worker, and all of them go with one message (ipc/ctl.h). */
enum { CONF_ACCESS_LOGS_MAX = 60 };

struct conf_access_logs {
	/* "stdout", "stderr" or a path, and where it is set. */
	struct {
		const char *name;
		const struct conf_pos *at;
	} v[CONF_ACCESS_LOGS_MAX];
	unsigned n;
	const struct conf_pos *one_more; /* where the first is set that has no room; else NULL */
};

/* Logging of the requests of one server. */
struct conf_access_log {
	int log; /* index in struct conf_access_logs; -1: they are not logged */
	enum access_format format;
	const struct conf_list *skip;
};

void conf_access_logs(const struct conf *conf, struct conf_access_logs *out);

/* Logging of the i-th server's requests; i = conf->nservers: of those that belong to none of them.
 */
struct conf_access_log conf_access_log(
	const struct conf *conf, const struct conf_access_logs *all, unsigned i);

#endif
