/*
 * site_maker: the memory that sites lie in, the place where faults go, and the media types of
 * servers. For sites.c, site_locations.c and trees.c.
 */
#ifndef H2D_SITES_SITE_MAKER_H
#define H2D_SITES_SITE_MAKER_H

#include "base/arena.h"
#include "conf/conf_fault.h"
#include "http/mime.h"

struct location; /* rules/site.h */

struct site_maker {
	struct arena *a;
	conf_fault_fn *fault;
	void *ctx;
	unsigned faults;
	struct conf_said said;
	const struct location *top; /* add-header of the top level, which all servers have */
	const struct conf_limits *limits;
	const struct mime_types *types; /* of the server that is made */
	bool oom;
};

void site_maker_fault(struct site_maker *m, const struct conf_pos *pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Room for n things of size, at least for one; never NULL before the memory is out. */
void *site_maker_room(struct site_maker *m, size_t n, size_t size);

/* A copy in lower case. */
struct slice site_maker_lower(struct site_maker *m, struct slice s);

/* A fault at at if value, that of key, cannot be the value of a field. */
void site_maker_check_value(
	struct site_maker *m, const char *key, const char *value, const struct conf_pos *at);

/* Makes the media types that s has of its own (http/mime.h), with rows in rows, which has room for
 * all; their strings are the configuration's. A fault for each that is wrong or there twice. */
void site_maker_types(struct site_maker *m, struct mime_types *types, struct mime *rows,
	const struct conf_server *s);

#endif
