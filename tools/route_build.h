/*
 * route_build: from the rows of routes.def to the segment tree, in memory, with the line of every
 * fault. Runs at build time in the generator, and in tests; never in the server.
 */
#pragma once

#include "rules/route.h"

/* ROUTE(method, pattern, handler, body), unchanged. */
struct route_row {
	const char *file; /* its place */
	int line;
	const char *method, *pattern, *handler, *body;
};

struct route_build {
	struct route_table table; /* of the two below; handlers are the server's and NULL here */
	struct route *routes;     /* in the order of the rows */
	struct route_node *nodes;
	unsigned nnodes;
};

/*
 * Checks all rows and builds the tree. The rows' strings must outlive b. 0, or -1 with a line
 * "FILE:LINE: …" on err for every fault; b needs route_build_free() either way.
 */
int route_build(struct route_build *b, const struct route_row *rows, unsigned nrows, FILE *err);

void route_build_free(struct route_build *b);
