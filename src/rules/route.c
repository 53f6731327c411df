/*
 * route: the names of methods (RFC 9110, 9); finds the route of a path and prints the table. Called
 * once per request; reads const data only, never allocates. The recursion is as deep as the longest
 * pattern, and each node is visited once at most, for any path.
 */
#include "rules/route.h"

static const struct slice method_names[H2D_METHODS] = {
	[H2D_GET] = SLICE_LIT("GET"),
	[H2D_HEAD] = SLICE_LIT("HEAD"),
	[H2D_POST] = SLICE_LIT("POST"),
	[H2D_PUT] = SLICE_LIT("PUT"),
	[H2D_DELETE] = SLICE_LIT("DELETE"),
	[H2D_OPTIONS] = SLICE_LIT("OPTIONS"),
	[H2D_PATCH] = SLICE_LIT("PATCH"),
	[H2D_PROPFIND] = SLICE_LIT("PROPFIND"),
	[H2D_PROPPATCH] = SLICE_LIT("PROPPATCH"),
	[H2D_MKCOL] = SLICE_LIT("MKCOL"),
	[H2D_COPY] = SLICE_LIT("COPY"),
	[H2D_MOVE] = SLICE_LIT("MOVE"),
};

enum h2d_method method_parse(struct slice name)
{
	/* Compared without a call, as the most common. */
	if (slice_eq(name, SLICE("GET")))
		return H2D_GET;
	for (unsigned i = 0; i < H2D_METHODS; i++)
		if (slice_eq(name, method_names[i]))
			return (enum h2d_method)i;
	return H2D_METHOD_UNKNOWN;
}

const char *method_name(enum h2d_method method)
{
	return method < H2D_METHODS ? method_names[method].p : "unknown";
}

void method_list(unsigned methods, char buf[METHOD_LIST])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < H2D_METHODS; i++)
		if (methods & 1u << i)
			n += (size_t)sprintf(buf + n, "%s%s", n > 0 ? ", " : "", method_names[i].p);
}

/* By the kind of listener: the scopes of handlers that answer there. */
static const unsigned answering[] = {
	[H2D_ON_PUBLIC] = 1u << H2D_ON_PUBLIC | 1u << H2D_ON_ANY,
	[H2D_ON_UPLOADS] = 1u << H2D_ON_PUBLIC | 1u << H2D_ON_UPLOADS | 1u << H2D_ON_ANY,
	[H2D_ON_ADMIN] = 1u << H2D_ON_ADMIN | 1u << H2D_ON_ANY,
	[H2D_ON_FOLDERS] = 1u << H2D_ON_PUBLIC | 1u << H2D_ON_UPLOADS | 1u << H2D_ON_FOLDERS |
			   1u << H2D_ON_ANY,
	[H2D_ON_DRIVES] = 1u << H2D_ON_PUBLIC | 1u << H2D_ON_UPLOADS | 1u << H2D_ON_FOLDERS |
			  1u << H2D_ON_DRIVES | 1u << H2D_ON_ANY,
};

bool route_is_here(const struct h2d_handler *handler, enum h2d_scope here)
{
	return answering[here] >> handler->scope & 1;
}

/* The route of a node for method; NULL: none. */
static const struct route *route_of(const struct route_table *t, const struct route_node *node,
	enum h2d_scope here, enum h2d_method method)
{
	const struct route *r;

	if (method >= H2D_METHODS || !(node->methods & 1u << method))
		return NULL;
	r = &t->routes[node->routes[method]];
	if (route_is_here(r->handler, here))
		return r;
	/* The row of HEAD's own is elsewhere. */
	return method == H2D_HEAD ? route_of(t, node, here, H2D_GET) : NULL;
}

static bool owns(const struct route_table *t, const struct route_node *node, enum h2d_scope here)
{
	for (unsigned left = node->methods; left != 0; left &= left - 1)
		if (route_is_here(t->routes[node->routes[__builtin_ctz(left)]].handler, here))
			return true;
	return false;
}

static const struct route_node *find_literal(
	const struct route_table *t, const struct route_node *parent, struct slice segment)
{
	unsigned low = parent->literals, high = low + parent->nliterals;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		const struct route_node *mid = &t->nodes[middle];
		int order = segment.n == mid->len  ? memcmp(segment.p, mid->segment, mid->len)
			    : segment.n < mid->len ? -1
						   : 1;

		if (order == 0)
			return mid;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/*
 * The owner of the rest of a path below node, in the order literal, {param}, "*"; NULL: none. p is
 * the end of the path, or the slash before its next segment.
 */
static const struct route_node *find_owner(const struct route_table *t, enum h2d_scope here,
	const struct route_node *node, const char *p, const char *end, struct slice *param)
{
	const struct route_node *child, *owner = NULL;
	struct slice segment;
	const char *slash;

	if (p == end)
		return owns(t, node, here) ? node : NULL;
	p++;
	slash = memchr(p, '/', (size_t)(end - p));
	segment = slice_of(p, (size_t)((slash != NULL ? slash : end) - p));
	if (segment.n > 0) {
		child = find_literal(t, node, segment);
		if (child != NULL)
			owner = find_owner(t, here, child, p + segment.n, end, param);
		if (owner == NULL && node->param != 0) {
			*param = segment;
			child = &t->nodes[node->param];
			owner = find_owner(t, here, child, p + segment.n, end, param + 1);
		}
	}
	if (owner == NULL && node->rest != 0 && owns(t, &t->nodes[node->rest], here)) {
		*param = slice_of(p, (size_t)(end - p));
		owner = &t->nodes[node->rest];
	}
	return owner;
}

enum route_result route_find(const struct route_table *t, enum h2d_scope here,
	enum h2d_method method, struct slice path, struct route_match *match)
{
	const struct route_node *owner;

	match->route = NULL;
	match->owner = NULL;
	if (path.n == 0 || path.p[0] != '/')
		return ROUTE_NONE;
	/* Most paths are those of files. */
	if (path.n > 2 && !(t->begins >> route_begin(path.p + 1) & 1))
		return ROUTE_NONE;
	/* "/" has no segment, and its slash begins none unless a "*" takes it. */
	if (path.n == 1 && owns(t, &t->nodes[0], here))
		owner = &t->nodes[0];
	else
		owner = find_owner(t, here, &t->nodes[0], path.p, path.p + path.n, match->params);
	if (owner == NULL)
		return ROUTE_NONE;
	match->owner = owner;
	match->route = route_of(t, owner, here, method);
	return match->route != NULL ? ROUTE_FOUND : ROUTE_METHOD;
}

unsigned route_match_methods(
	const struct route_table *t, enum h2d_scope here, const struct route_match *match)
{
	unsigned methods = 0;

	for (unsigned m = 0; m < H2D_METHODS && match->owner != NULL; m++)
		if (route_of(t, match->owner, here, (enum h2d_method)m) != NULL)
			methods |= 1u << m;
	return methods;
}

unsigned route_methods(const struct route_table *t, enum h2d_scope here)
{
	unsigned methods = 0;

	for (unsigned i = 0; i < t->nroutes; i++)
		if (route_is_here(t->routes[i].handler, here))
			methods |= 1u << t->routes[i].method;
	return methods;
}

void route_print(const struct route_table *t, FILE *out)
{
	static const char *const scopes[] = {
		[H2D_ON_PUBLIC] = "public",
		[H2D_ON_UPLOADS] = "uploads",
		[H2D_ON_ADMIN] = "admin",
		[H2D_ON_ANY] = "any",
		[H2D_ON_FOLDERS] = "folders",
		[H2D_ON_DRIVES] = "drives",
	};

	for (unsigned i = 0; i < t->nroutes; i++) {
		const struct route *r = &t->routes[i];

		fprintf(out, "%-7s %-32s %-20s %-7s %s\n", method_name(r->method), r->pattern,
			r->handler->name, scopes[r->handler->scope],
			r->body == H2D_BODY_STREAM ? "stream" : "none");
	}
}
