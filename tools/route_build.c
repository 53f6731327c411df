/*
 * route_build: grows a tree of branches from the rows of routes.def, then lays it out as the array
 * of nodes for look-ups. Called by route_gen and by tests, never by the server. Without memory the
 * program ends, as a build tool may.
 */
#include "tools/route_build.h"

#include <stdlib.h>

#include "tools/row_gen.h"

enum { PATTERN_MAX = 1024, NODES_MAX = UINT16_MAX };

enum kind { LITERAL, PARAM, REST };

/* A node of the growing tree; its children are a list in layout order. */
struct branch {
	enum kind kind;
	struct slice literal;
	struct branch *children, *next;
	struct route_node node;
};

struct builder {
	struct route_build *b;
	const struct route_row *rows;
	struct branch root;
	struct row_faults faults;
};

#define FAULT(builder, row, ...) \
	row_fault(&(builder)->faults, (row)->file, (row)->line, __VA_ARGS__)

static void *must(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

static bool all_of(struct slice s, const char *more)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c != '\0' && strchr(more, c) != NULL)))
			return false;
	}
	return s.n > 0;
}

/* --- one row ---------------------------------------------------------------------------------- */

/* Cuts "/segment" off *rest. */
static struct slice next_segment(struct slice *rest)
{
	const char *slash = memchr(rest->p + 1, '/', rest->n - 1);
	const char *end = slash != NULL ? slash : rest->p + rest->n;
	struct slice segment = slice_of(rest->p + 1, (size_t)(end - rest->p - 1));

	*rest = slice_of(end, (size_t)(rest->p + rest->n - end));
	return segment;
}

static enum kind kind_of(struct slice segment)
{
	if (slice_eq(segment, SLICE("*")))
		return REST;
	return segment.n > 0 && segment.p[0] == '{' ? PARAM : LITERAL;
}

/* The fault of segment; NULL: none. */
static const char *segment_fault(struct slice segment, bool last)
{
	if (segment.n == 0)
		return "empty segment";
	switch (kind_of(segment)) {
	case REST:
		return last ? NULL : "\"*\" is not the last segment";
	case PARAM:
		if (segment.p[segment.n - 1] != '}')
			return memchr(segment.p, '}', segment.n) == NULL
				       ? "unclosed brace"
				       : "a parameter must be a whole segment";
		if (!all_of(slice_of(segment.p + 1, segment.n - 2), "_"))
			return "name a parameter with letters, digits and \"_\"";
		return NULL;
	case LITERAL:
		break;
	}
	if (memchr(segment.p, '{', segment.n) != NULL || memchr(segment.p, '}', segment.n) != NULL)
		return "a parameter must be a whole segment";
	if (slice_eq(segment, SLICE(".")) || slice_eq(segment, SLICE("..")))
		return "paths have no dot segments";
	/* pchar (RFC 3986, 3.3) without "%" and "*", which would be misleading */
	if (!all_of(segment, "-._~!$&'()+,;=:@"))
		return "a byte that patterns must not contain";
	return NULL;
}

static bool add_param(struct builder *builder, const struct route_row *row, struct route *route,
	struct slice name)
{
	if (route->nparams == ROUTE_PARAMS_MAX)
		return FAULT(builder, row, "more than %d parameters in \"%s\"", ROUTE_PARAMS_MAX,
			route->pattern);
	for (unsigned i = 0; i < route->nparams; i++)
		if (slice_eq(name, slice_str(route->params[i])))
			return FAULT(builder, row, "duplicate parameter \"%.*s\" in \"%s\"",
				SLICE_ARG(name), route->pattern);
	route->params[route->nparams++] = must(strndup(name.p, name.n));
	return true;
}

static bool check_pattern(struct builder *builder, const struct route_row *row, struct route *route)
{
	struct slice rest = slice_str(route->pattern);

	if (rest.n == 0 || rest.p[0] != '/')
		return FAULT(
			builder, row, "pattern \"%s\" does not begin with \"/\"", route->pattern);
	if (rest.n > PATTERN_MAX)
		return FAULT(builder, row, "pattern over %d bytes", PATTERN_MAX);
	if (rest.n == 1)
		return true;
	while (rest.n > 0) {
		struct slice segment = next_segment(&rest), name = segment;
		const char *why = segment_fault(segment, rest.n == 0);

		if (why != NULL)
			return FAULT(builder, row, "bad pattern \"%s\": %s", route->pattern, why);
		if (kind_of(segment) == PARAM)
			name = slice_of(segment.p + 1, segment.n - 2);
		if (kind_of(segment) != LITERAL && !add_param(builder, row, route, name))
			return false;
	}
	return true;
}

static bool check_row(struct builder *builder, const struct route_row *row, struct route *route)
{
	bool ok = true;

	route->pattern = row->pattern;
	route->method = method_parse(slice_str(row->method));
	if (route->method == H2D_METHOD_UNKNOWN)
		ok = FAULT(builder, row, "unknown method \"%s\"", row->method);
	if (!all_of(slice_str(row->handler), "_") ||
		(row->handler[0] >= '0' && row->handler[0] <= '9'))
		ok = FAULT(builder, row, "\"%s\" cannot name a handler", row->handler);
	if (strcmp(row->body, "BODY_STREAM") == 0)
		route->body = H2D_BODY_STREAM;
	else if (strcmp(row->body, "BODY_NONE") == 0)
		route->body = H2D_BODY_NONE;
	else
		ok = FAULT(builder, row, "unknown request body \"%s\"", row->body);
	return check_pattern(builder, row, route) && ok;
}

/* --- the tree --------------------------------------------------------------------------------- */

/* Order among siblings: literals first, by length, then by bytes. */
static int route_build_compare(enum kind kind, struct slice literal, const struct branch *br)
{
	if (kind != br->kind)
		return kind < br->kind ? -1 : 1;
	if (kind != LITERAL)
		return 0;
	if (literal.n != br->literal.n)
		return literal.n < br->literal.n ? -1 : 1;
	return memcmp(literal.p, br->literal.p, literal.n);
}

static struct branch *child_for(
	struct builder *builder, struct branch *parent, struct slice segment)
{
	enum kind kind = kind_of(segment);
	struct branch **at = &parent->children, *br;

	while (*at != NULL && route_build_compare(kind, segment, *at) > 0)
		at = &(*at)->next;
	if (*at != NULL && route_build_compare(kind, segment, *at) == 0)
		return *at;
	br = must(calloc(1, sizeof(*br)));
	br->kind = kind;
	br->literal = segment;
	br->next = *at;
	*at = br;
	builder->b->nnodes++;
	return br;
}

static void insert(struct builder *builder, unsigned i)
{
	const struct route *route = &builder->b->routes[i];
	struct slice rest = slice_str(route->pattern);
	struct branch *br = &builder->root;

	while (rest.n > 1)
		br = child_for(builder, br, next_segment(&rest));
	if (br->node.methods & 1u << route->method) {
		const struct route_row *other = &builder->rows[br->node.routes[route->method]];

		FAULT(builder, &builder->rows[i], "%s \"%s\" clashes with \"%s\" of %s:%d",
			builder->rows[i].method, route->pattern, other->pattern, other->file,
			other->line);
		return;
	}
	br->node.methods |= (uint16_t)(1u << route->method);
	br->node.routes[route->method] = (uint16_t)i;
}

/* RFC 9110, 9.3.2: a handler of GET answers HEAD. */
static void add_head(struct route_node *node)
{
	if ((node->methods & 1u << H2D_GET) && !(node->methods & 1u << H2D_HEAD)) {
		node->methods |= 1u << H2D_HEAD;
		node->routes[H2D_HEAD] = node->routes[H2D_GET];
	}
}

/* Puts br at nodes[at] and its descendants from nodes[*next] on; frees the branches below. */
static void lay_out(struct route_node *nodes, struct branch *br, unsigned at, unsigned *next)
{
	struct route_node *node = &nodes[at];
	struct branch *child, *following;
	unsigned first = *next, i = first;

	*node = br->node;
	if (br->kind == LITERAL) {
		node->segment = br->literal.p;
		node->len = (uint16_t)br->literal.n;
	}
	add_head(node);
	for (child = br->children; child != NULL; child = child->next, ++*next) {
		if (child->kind == PARAM)
			node->param = (uint16_t)*next;
		else if (child->kind == REST)
			node->rest = (uint16_t)*next;
		else
			node->nliterals++;
	}
	node->literals = (uint16_t)(node->nliterals > 0 ? first : 0);
	for (child = br->children; child != NULL; child = following) {
		following = child->next;
		lay_out(nodes, child, i++, next);
		free(child);
	}
}

/* Beginnings of paths: all, if "/" has a child for any segment. */
static uint64_t begins_of(const struct route_node *nodes)
{
	uint64_t begins = nodes->param != 0 || nodes->rest != 0 ? UINT64_MAX : 0;

	for (unsigned i = 0; i < nodes->nliterals; i++) {
		const struct route_node *child = &nodes[nodes->literals + i];
		char two[] = { child->segment[0], child->len > 1 ? child->segment[1] : '/' };

		begins |= UINT64_C(1) << route_begin(two);
	}
	return begins;
}

int route_build(struct route_build *b, const struct route_row *rows, unsigned nrows, FILE *err)
{
	struct builder builder = { .b = b, .rows = rows, .faults.err = err };
	unsigned next = 1;

	*b = (struct route_build){ .nnodes = 1 };
	b->routes = must(calloc(nrows + 1, sizeof(*b->routes)));
	b->table.nroutes = nrows;
	for (unsigned i = 0; i < nrows; i++)
		if (check_row(&builder, &rows[i], &b->routes[i]) && i < NODES_MAX)
			insert(&builder, i);
	if (nrows > NODES_MAX || b->nnodes > NODES_MAX)
		FAULT(&builder, &rows[nrows - 1], "too many routes");
	b->nodes = must(calloc(b->nnodes, sizeof(*b->nodes)));
	lay_out(b->nodes, &builder.root, 0, &next);
	b->table.routes = b->routes;
	b->table.nodes = b->nodes;
	b->table.begins = begins_of(b->nodes);
	return builder.faults.any ? -1 : 0;
}

void route_build_free(struct route_build *b)
{
	for (unsigned i = 0; i < b->table.nroutes; i++)
		for (unsigned j = 0; j < b->routes[i].nparams; j++)
			free((char *)(uintptr_t)b->routes[i].params[j]);
	free(b->routes);
	free(b->nodes);
	*b = (struct route_build){ .routes = NULL };
}
