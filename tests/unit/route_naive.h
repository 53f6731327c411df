/*
 * route_naive: finds the route of a path without a tree: it tries every row and takes the most
 * specific. What the compiled table answers is compared with that.
 */
#pragma once

#include <string.h>

#include "rules/route.h"

enum { NAIVE_ROWS_MAX = 64, NAIVE_SHAPE_MAX = 1024 };

/* Cuts "/segment" off *rest. */
static struct slice naive_cut(struct slice *rest)
{
	size_t n = 1;
	struct slice segment;

	while (n < rest->n && rest->p[n] != '/')
		n++;
	segment = slice_of(rest->p + 1, n - 1);
	*rest = slice_of(rest->p + n, rest->n - n);
	return segment;
}

/*
 * Does pattern match path? Then shape says how, a letter per segment, the more specific the
 * smaller: 'a' a literal, 'b' a parameter, 'c' the rest; params are what the parameters got.
 */
static bool naive_matches(const char *pattern, struct slice path, char *shape, struct slice *params)
{
	struct slice rest = slice_str(pattern);

	*shape = '\0';
	if (rest.n == 1 || path.n == 1) {
		if (rest.n == 1)
			return path.n == 1;
		*params = slice_of(path.p + 1, 0);
		strcpy(shape, "c");
		return strcmp(pattern, "/*") == 0;
	}
	while (rest.n > 0) {
		struct slice left = path, want = naive_cut(&rest), got;

		if (path.n == 0)
			return false;
		got = naive_cut(&path);
		if (slice_eq(want, SLICE("*"))) {
			*params = slice_of(left.p + 1, left.n - 1);
			strcpy(shape, "c");
			return true;
		}
		if (want.p[0] == '{') {
			if (got.n == 0)
				return false;
			*params++ = got;
			*shape++ = 'b';
		} else {
			if (!slice_eq(want, got))
				return false;
			*shape++ = 'a';
		}
		*shape = '\0';
	}
	return path.n == 0;
}

/* What one look-up answers beside what the rows say of it: NULL, or what differs. */
static const char *naive_differs(const struct route_match *found, enum route_result result,
	unsigned methods, const struct route *row, const struct slice *params)
{
	if (row == NULL)
		return result == (methods != 0 ? ROUTE_METHOD : ROUTE_NONE) && found->route == NULL
			       ? NULL
			       : "a route where there is none";
	if (result != ROUTE_FOUND || found->route != row)
		return "not the route";
	for (unsigned i = 0; i < row->nparams; i++)
		if (found->params[i].p != params[i].p || found->params[i].n != params[i].n)
			return "other parameters";
	return NULL;
}

/* Asks t for path with every method, on listeners of that scope; NULL, or what differs. */
static const char *naive_compare(
	const struct route_table *t, struct slice path, enum h2d_scope here)
{
	static struct slice params[NAIVE_ROWS_MAX][ROUTE_PARAMS_MAX];
	static char shapes[NAIVE_ROWS_MAX][NAIVE_SHAPE_MAX];
	const struct route *rows[H2D_METHODS + 1] = { NULL };
	const char *best = "d", *fault = NULL;
	bool match[NAIVE_ROWS_MAX];
	unsigned methods = 0;

	for (unsigned i = 0; i < t->nroutes; i++) {
		enum h2d_scope scope = t->routes[i].handler->scope;

		match[i] = (scope == here || scope == H2D_ON_ANY) &&
			   naive_matches(t->routes[i].pattern, path, shapes[i], params[i]);
		if (match[i] && strcmp(shapes[i], best) < 0)
			best = shapes[i];
	}
	for (unsigned i = 0; i < t->nroutes; i++)
		if (match[i] && strcmp(shapes[i], best) == 0) {
			methods |= 1u << t->routes[i].method;
			rows[t->routes[i].method] = &t->routes[i];
		}
	if (rows[H2D_HEAD] == NULL)
		rows[H2D_HEAD] = rows[H2D_GET];
	if (rows[H2D_HEAD] != NULL)
		methods |= 1u << H2D_HEAD;
	for (unsigned m = 0; m <= H2D_METHOD_UNKNOWN && fault == NULL; m++) {
		struct route_match found;
		enum route_result result = route_find(t, here, (enum h2d_method)m, path, &found);

		fault = naive_differs(&found, result, methods, rows[m],
			rows[m] != NULL ? params[rows[m] - t->routes] : NULL);
		if (route_match_methods(t, here, &found) != methods)
			fault = "other methods";
	}
	return fault;
}
