/* trees: what the cache layer needs to know of the configuration, for the worker and for the keeper. */
#ifndef H2D_SERVER_TREES_H
#define H2D_SERVER_TREES_H

#include "cache/files.h"
#include "conf/conf.h"

struct trees {
	struct files_conf files;  /* its strings are the conf's */
	struct files_root *roots;
};

/* 0, or -1 when memory is out. */
int trees_init(struct trees *t, const struct conf *conf);
void trees_fini(struct trees *t);

#endif
