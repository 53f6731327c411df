/*
 * route: the compiled route table: a const segment tree in .rodata, made from routes.def by the
 * generator route_gen at build time. Looking up allocates nothing and takes no lock.
 *
 * Pattern: "/", or "/segment" repeated. A segment is a literal (compared with decoded bytes, case
 * matters), or {name}: any one segment that is not empty, or, as the last one, "*": the whole rest
 * after the slash, which may be empty. So "/a/{x}" matches neither "/a" nor "/a/", while "/a/" and
 * a "*" match "/a/" and "/a/b/c", but not "/a".
 *
 * The most specific pattern owns the path: of all that match, compared segment by segment from the
 * left, literal beats {param} beats "*". A more specific branch without a complete match does not
 * count: with "/a/b/c" and "/a/{x}/d", the path "/a/b/d" is the second's. The method does not
 * matter: the owner answers 405 for a method it lacks, even if a less specific pattern has it.
 */
#pragma once

#include <stdio.h>

#include "base/slice.h"
#include "h2d/upload_scope.h"

/* "GET" and back; H2D_METHOD_UNKNOWN for any other name. Case-sensitive (RFC 9110, 9.1). */
enum h2d_method method_parse(struct slice name);
const char *method_name(enum h2d_method method);

/* Writes "GET, HEAD", for an allow header, from a bit set. */
enum { METHOD_LIST = 96 };
void method_list(unsigned methods, char buf[METHOD_LIST]);

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
	uint64_t begins; /* a bit for each possible beginning of a path in a pattern */
};

enum route_result {
	ROUTE_FOUND,
	ROUTE_NONE,   /* no pattern owns this path: the document root answers */
	ROUTE_METHOD, /* the path exists, but not with this method: 405 with allow */
};

struct route_match {
	const struct route *route;             /* ROUTE_FOUND */
	struct slice params[ROUTE_PARAMS_MAX]; /* parts of path; the first route->nparams are set */
	const struct route_node *owner;        /* NULL: ROUTE_NONE */
};

/*
 * path: of path_parse(). HEAD finds GET's route, unless it has its own row. here: the kind of
 * listener, H2D_ON_PUBLIC (H2D_ON_UPLOADS if the site takes any) or H2D_ON_ADMIN; rows whose
 * handlers do not answer there are ignored.
 */
enum route_result route_find(const struct route_table *t, enum h2d_scope here,
	enum h2d_method method, struct slice path, struct route_match *match);

/* The methods of the path's owner, bit per enum h2d_method, HEAD with GET. */
unsigned route_match_methods(
	const struct route_table *t, enum h2d_scope here, const struct route_match *match);

/* True if handler answers there. */
bool route_is_here(const struct h2d_handler *handler, enum h2d_scope here);

/* The methods of all paths there, bit per enum h2d_method. */
unsigned route_methods(const struct route_table *t, enum h2d_scope here);

/* --routes: one line per route: method, pattern, handler, listeners, request body. */
void route_print(const struct route_table *t, FILE *out);

/* A pattern up to some segment, for route.c and route_gen alone. Children are indices into
 * route_table.nodes; 0 means none, because nodes[0] is never a child. */
struct route_node {
	const char *segment;          /* the literal of this node; unused in others */
	uint16_t len;                 /* its bytes */
	uint16_t literals, nliterals; /* children: adjacent, by length, then by bytes */
	uint16_t param;               /* the child for any one segment */
	uint16_t rest;                /* the child for the whole rest */
	uint16_t methods;             /* bit per enum h2d_method; 0: no pattern ends here */
	uint16_t routes[H2D_METHODS]; /* index of the route, if methods has the bit */
};

/* The bit of route_table.begins for a path that begins with "/" and these two bytes. */
static inline unsigned route_begin(const char *two)
{
	return ((unsigned char)two[0] * 7u + (unsigned char)two[1]) % 64;
}
