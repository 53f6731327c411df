/*
 * redirect: the location header of the configuration's redirects. Pure; a client's bytes go into it
 * encoded, and never before the path.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/conf_pos.h"
#include "base/name_map.h"
#include "base/prefix_index.h"

/* The redirect of a location, or of a line of a file. */
struct redirect {
	struct slice to;     /* URL or path; n 0: none */
	struct slice prefix; /* of its block: the target replaces it */
	int status;
	bool keeps; /* the rest of the path and the query are appended to the target */
};

/* A redirected path of a file of redirects, or all that begin with its prefix. */
struct redirect_line {
	struct redirect redirect;
	struct conf_pos at;
};

struct redirects {
	struct name_map by_path; /* decoded: the number of its line, plus 1 */
	const struct redirect_line *v;
	unsigned n;
	struct prefix_index by_prefix; /* lines that end in "*" */
};

/* The line of a decoded path, else the one with the longest prefix; NULL: none. */
static inline const struct redirect_line *redirects_find(
	const struct redirects *r, struct slice path)
{
	unsigned n = name_map_get(&r->by_path, path);
	const struct prefix_entry *e =
		n == 0 && r->by_prefix.n > 0 ? prefix_index_find(&r->by_prefix, path) : NULL;

	if (e != NULL)
		n = e->of + 1;
	return n > 0 ? &r->v[n - 1] : NULL;
}

/* "https://HOST[:PORT]TARGET" in a; no port if it is 443. p NULL when a is full. */
struct slice redirect_to_https(
	struct slice host, uint16_t port, struct slice target, struct arena *a);

/*
 * The target for path (decoded, of the location) and query: if it keeps the path, the rest of it
 * after the prefix is appended to the target, and the query. p NULL when a is full.
 */
struct slice redirect_location(
	const struct redirect *r, struct slice path, struct slice query, struct arena *a);
