/*
 * types: the media types that server blocks have of their own (http/mime.h). Trees makes them once
 * per generation; the rows borrow their strings from the configuration.
 */
#ifndef H2D_SITES_TYPES_H
#define H2D_SITES_TYPES_H

#include "conf/conf.h"
#include "http/mime.h"

/*
 * *types of s, with its rows in rows, which has room for all. 0, or -1 after a fault for each that
 * is wrong or there twice.
 */
int types_make(struct mime_types *types, struct mime *rows, const struct conf_server *s,
	conf_fault_fn *fault, void *ctx);

#endif
