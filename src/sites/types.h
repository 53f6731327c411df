/*
 * types: the media types that server blocks have of their own (http/mime.h). Trees makes them once
 * per generation; the rows borrow their strings from the configuration.
 */
#ifndef H2D_SITES_TYPES_H
#define H2D_SITES_TYPES_H

#include "sites/site_maker.h"

/* Makes *types of s, with its rows in rows, which has room for all; a fault for each that is wrong
 * or there twice. */
void types_make(struct site_maker *m, struct mime_types *types, struct mime *rows,
	const struct conf_server *s);

#endif
