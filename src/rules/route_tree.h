/*
 * route_tree: the nodes of the compiled segment tree. For route.c, which walks it, and for
 * route_build and route_gen, which make it; nobody else looks inside.
 */
#ifndef H2D_RULES_ROUTE_TREE_H
#define H2D_RULES_ROUTE_TREE_H

#include "rules/route.h"

/* A pattern up to some segment. Children are indices into route_table.nodes; 0 is none, for
 * nodes[0] is nobody's child. */
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
