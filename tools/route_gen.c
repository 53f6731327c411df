/*
 * route_gen: the program that make runs to turn routes.def into C on stdout: the const route table,
 * its tree, and declarations of its handlers. A fault in a row ends it with 1 and a line
 * "FILE:LINE: …" on stderr.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/route_build.h"

/* Prefix of a row's handler: no name can clash with one of the server's. */
#define SYMBOL "h2d_handler_"

#define ROW(method, pattern, handler, body) \
	{ __FILE__, __LINE__, #method, pattern, #handler, #body },
static const struct route_row rows[] = {
#define ROUTE ROW
#include "routes.def"
#ifdef HANDLERS_ROUTES /* of the directories of configure --with-handlers */
#define ROUTE ROW
#include HANDLERS_ROUTES
#endif
};

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

/*
 * Only the linker notices a missing handler, and it names the section of the reference. So each row
 * refers to its handler from a section that is named after the row. The pad is for linkers that
 * take a variable at offset 0 for another one and print that one's line instead.
 */
static void print_handlers(void)
{
	for (unsigned i = 0; i < NROWS; i++)
		printf("#line %d \"%s\"\n"
		       "extern const struct h2d_handler " SYMBOL "%s; "
		       "static const struct { const void *pad, *handler; } row_%u "
		       "__attribute__((used, section(\".data.rel.ro.%s:%d\"))) "
		       "= { NULL, &" SYMBOL "%s };\n",
			rows[i].line, rows[i].file, rows[i].handler, i, rows[i].file, rows[i].line,
			rows[i].handler);
	printf("#line %d \"routes_table.c\"\n", 6 + 2 * NROWS + 1);
}

static void print_routes(const struct route_build *b)
{
	printf("\nstatic const struct route routes[] = {\n");
	for (unsigned i = 0; i < NROWS; i++) {
		const struct route *r = &b->routes[i];

		printf("\t{ H2D_%s, \"%s\", &" SYMBOL "%s, H2D_%s, %u, {", rows[i].method,
			r->pattern, rows[i].handler, rows[i].body, r->nparams);
		for (unsigned j = 0; j < r->nparams; j++)
			printf(" \"%s\",", r->params[j]);
		printf(" } },\n");
	}
	printf("};\n");
}

static void print_nodes(const struct route_build *b)
{
	printf("\nstatic const struct route_node nodes[] = {\n");
	for (unsigned i = 0; i < b->nnodes; i++) {
		const struct route_node *n = &b->nodes[i];

		printf("\t{ \"%.*s\", %u, %u, %u, %u, %u, 0x%x, {", (int)n->len,
			n->len > 0 ? n->segment : "", n->len, n->literals, n->nliterals, n->param,
			n->rest, n->methods);
		for (unsigned m = 0; m < H2D_METHODS; m++)
			printf(" %u,", n->routes[m]);
		printf(" } }, /* %u */\n", i);
	}
	printf("};\n");
}

int main(void)
{
	struct route_build b;
	int failed = route_build(&b, rows, NROWS, stderr);

	if (failed == 0) {
		printf("/* Made by route_gen from routes.def. */\n"
		       "#include \"rules/route.h\"\n\n"
		       "extern const struct route_table routes_table;\n\n");
		print_handlers();
		print_routes(&b);
		print_nodes(&b);
		printf("\nconst struct route_table routes_table = { routes, %u, nodes, "
		       "UINT64_C(0x%" PRIx64 ") };\n",
			NROWS, b.table.begins);
	}
	route_build_free(&b);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("route_gen");
		failed = -1;
	}
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
