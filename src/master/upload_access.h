/*
 * upload_access: warns of folders for uploads that nobody may write to: a server block says where
 * uploads go, and not who may make them. Each would be answered with 403.
 */
#ifndef H2D_MASTER_UPLOAD_ACCESS_H
#define H2D_MASTER_UPLOAD_ACCESS_H

#include "conf/conf.h"
#include "request/site.h"

/* Calls warn once per server block; sites were made of conf. */
void upload_access_check(
	const struct conf *conf, const struct sites *sites, conf_fault_fn *warn, void *ctx);

#endif
