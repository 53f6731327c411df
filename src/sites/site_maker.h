/*
 * site_maker: the sites' memory, media types, and the parts of a site: access, headers, and, in
 * files of their own, locations and redirects. For sites.c and trees.c.
 */
#pragma once

#include "base/arena.h"
#include "base/name_map.h"
#include "conf/conf.h"
#include "conf/conf_fault.h"
#include "http/field.h"
#include "http/mime.h"
#include "rules/redirect.h"
#include "rules/site.h"
#include "share/access.h"

struct site_maker {
	struct arena *a;
	struct conf_faults *faults;
	const struct location *top; /* add-header of the top level, for all servers */
	const struct conf_limits *limits;
	const struct mime_types *types; /* of the current server */
	struct site_peer *peers;        /* of all proxies */
	unsigned npeers;
	struct name_map peer_numbers; /* plus 1, by their texts */
	bool oom;
};

/* Room for n objects of size, at least for one; never NULL before the memory is out. */
void *site_maker_room(struct site_maker *m, size_t n, size_t size);

/* The path without final slashes. */
struct slice site_maker_dir(const char *path);

/* A copy in lower case. */
struct slice site_maker_lower(struct site_maker *m, struct slice s);

/* Reports a fault at at if value, that of key, is no legal header value. */
static inline void site_maker_check_value(
	struct site_maker *m, const char *key, const char *value, const struct conf_pos *at)
{
	if (!field_value_valid(slice_str(value)))
		conf_fault(m->faults, at, "%s \"%.200s\" is not a header value", key, value);
}

/* Makes the media types of s (http/mime.h), with rows in rows, which has room for all; the
 * configuration owns their strings. A fault for each invalid or duplicate one. */
void site_maker_types(struct conf_faults *faults, struct mime_types *types, struct mime *rows,
	const struct conf_server *s);

/* The codings of a list compress: bit set by enum coding. */
unsigned site_maker_codings(const struct conf_list *list);

/* --- locations (site_locations.c) ------------------------------------------------------------- */

/* The headers that the top level adds to those of all servers; NULL when memory is out. */
const struct location *site_locations_top(struct site_maker *m, const struct conf *conf);

/*
 * Sets site->all and site->locations, the longest first. site has its root; roots: the number of
 * each location's. Faults go to m, which has its top.
 */
void site_locations_make(struct site_maker *m, struct site *site, const struct conf_server *s,
	const unsigned *roots);

/* --- proxies (site_proxy.c) ------------------------------------------------------------------- */

/* The proxy of the server's block (l NULL) or of l, whose settings are p's; NULL: none. A fault for
 * each invalid key, at its line. */
const struct site_proxy *site_proxy_make(
	struct site_maker *m, const struct conf_scope *p, const struct conf_location *l);

/* --- access ----------------------------------------------------------------------------------- */

/* Sets addresses, subjects and users of location from p; a fault for each invalid one, at its line.
 * public: all clients may write. */
void site_access_make(
	struct site_maker *m, struct location *location, const struct conf_scope *p, bool public);

/* The clients of exempt, an IPv6 address with at most client-ipv6-prefix bits; NULL as below. */
const struct access *site_access_exempt(struct site_maker *m);

/* The clients of the list of that key; NULL: none, or memory is out. */
const struct access *site_access_list(struct site_maker *m, const struct conf_list *list,
	const char *key, enum access_use use, const struct conf_pos *at);

/* --- add-header and remove-header ------------------------------------------------------------- */

/* Sets location's removed headers: those of outer, NULL for the top level, then list's. */
void site_maker_removed(struct site_maker *m, struct location *location,
	const struct location *outer, const struct conf_list *list, const struct conf_pos *at);

/* Sets location's headers and their places: those of outer, NULL for the top level, without those
 * that location removes, then list's. */
void site_maker_headers(struct site_maker *m, struct location *location, struct location_at *places,
	const struct location *outer, const struct conf_list *list, const struct conf_pos *at);

/* --- redirects (redirects_file.c) ------------------------------------------------------------- */

/* The redirects of s, in m's memory. NULL: none, or after a fault, at a line of the file. */
const struct redirects *redirects_file_read(struct site_maker *m, const struct conf_server *s);
