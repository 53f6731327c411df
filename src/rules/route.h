/*
 * route: the compiled route table: a const segment tree in .rodata, made from routes.def by the
 * generator route_gen at build time. Looking up allocates nothing and takes no lock.
 *
 * Pattern: "/", or "/segment" repeated. A segment is a literal (compared with decoded bytes, case
 * matters), or {name}: any one segment that is not empty, or, as the last one, "*": all that is
 * left behind the slash, which may be nothing. So "/a/{x}" matches neither "/a" nor "/a/", while
 * "/a/" and a "*" match "/a/" and "/a/b/c", but not "/a".
 *
 * The most specific pattern owns the path: of all that match, compared segment by segment from the
 * left, literal beats {param} beats "*". A more specific branch that leads to no complete match
 * does not count: with "/a/b/c" and "/a/{x}/d", the path "/a/b/d" is the second's. The method has
 * no say in this: the owner answers 405 for a method it lacks, though a less specific pattern had
 * it.
 */
#ifndef H2D_RULES_ROUTE_H
#define H2D_RULES_ROUTE_H

#include <stdio.h>

#include "base/slice.h"
#include "h2d/upload_scope.h"
#include "http/method.h"

enum { ROUTE_PARAMS_MAX = 8 };

struct route {
	enum h2d_method method;
	const char *pattern;
	const struct h2d_handler *handler;
	enum h2d_body body;
	unsigned nparams;                     /* a final "*" counts, its name is "*" */
	const char *params[ROUTE_PARAMS_MAX]; /* names, in the order of the pattern */
};

struct route_node; /* below, for the generator and the lookup only */

struct route_table {
	const struct route *routes;
	unsigned nroutes;
	const struct route_node *nodes; /* nodes[0] is "/" */
	uint64_t begins; /* a bit for each beginning of a path that a pattern may have */
};

enum route_result {
	ROUTE_FOUND,
	ROUTE_NONE,   /* no pattern owns this path: the document root answers */
	ROUTE_METHOD, /* the path exists, not with this method: 405 with allow */
};

struct route_match {
	const struct route *route;             /* ROUTE_FOUND */
	struct slice params[ROUTE_PARAMS_MAX]; /* parts of path; the first route->nparams are set */
	const struct route_node *owner;        /* NULL: ROUTE_NONE */
};

/*
 * path: as path_parse() makes it. HEAD finds GET's route, unless it has a row of its own. here:
 * what the listener is, H2D_ON_PUBLIC (H2D_ON_UPLOADS if the site takes any) or H2D_ON_ADMIN; rows
 * whose handlers do not answer there do not exist.
 */
enum route_result route_find(const struct route_table *t, enum h2d_scope here,
	enum h2d_method method, struct slice path, struct route_match *match);

/* The methods of what owns the path, bit per enum h2d_method, HEAD with GET. */
unsigned route_match_methods(
	const struct route_table *t, enum h2d_scope here, const struct route_match *match);

/* Whether handler answers there. */
bool route_is_here(const struct h2d_handler *handler, enum h2d_scope here);

/* The methods that any path has there, bit per enum h2d_method. */
unsigned route_methods(const struct route_table *t, enum h2d_scope here);

/* --routes: one line per route: method, pattern, handler, listeners, request body. */
void route_print(const struct route_table *t, FILE *out);

/* A pattern up to some segment, for route.c and route_gen alone. Children are indices into
 * route_table.nodes; 0 is none, for nodes[0] is nobody's child. */
struct route_node {
	const char *segment;          /* the literal that leads here; of no use in other nodes */
	uint16_t len;                 /* its bytes */
	uint16_t literals, nliterals; /* children: adjacent, by length, then by bytes */
	uint16_t param;               /* the child for any one segment */
	uint16_t rest;                /* the child for all that is left */
	uint16_t methods;             /* bit per enum h2d_method; 0: no pattern ends here */
	uint16_t routes[H2D_METHODS]; /* index of the route, where methods has the bit */
};

/* The bit of route_table.begins for a path that begins with "/" and these two bytes. */
static inline unsigned route_begin(const char *two)
{
	return ((unsigned char)two[0] * 7u + (unsigned char)two[1]) % 64;
}

#endif
