/*
 * trees: what the cache layer needs to know of the configuration, for the worker and for the keeper:
 * the roots of all server blocks, each once, however many blocks serve it.
 */
#ifndef H2D_SERVER_TREES_H
#define H2D_SERVER_TREES_H

#include "cache/files.h"
#include "conf/conf.h"

struct trees {
	struct files_conf files;  /* its strings are the conf's */
	struct files_root *roots;
	unsigned *of_server;      /* per server block: the number of its root */
};

/* 0, or -1 when memory is out. */
int trees_init(struct trees *t, const struct conf *conf);
void trees_fini(struct trees *t);

#endif
