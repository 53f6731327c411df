/*
 * check_route: tables built from rows as the generator builds them: who owns a path, with which
 * parameters and methods; and every fault of a row, with its line.
 */
#include "rules/route.h"

#include "tools/route_build.h"
#include "unit.h"

static const struct h2d_handler handler = { .name = "thing", .scope = H2D_ON_ANY };

enum { ROWS_MAX = 16 };

/* Rows from "METHOD /pattern\n…", lines counted from 1. */
static unsigned split_rows(char *text, struct route_row *rows)
{
	unsigned n = 0;
	char *save, *line = strtok_r(text, "\n", &save);

	for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
		char *space = strchr(line, ' ');

		*space = '\0';
		rows[n] = (struct route_row){ "routes.def", (int)n + 1, line, space + 1, "thing",
			"BODY_NONE" };
		n++;
	}
	return n;
}

static void build(struct route_build *b, const char *text, char **copy)
{
	static struct route_row rows[ROWS_MAX];

	*copy = strdup(text);
	ck_assert_int_eq(route_build(b, rows, split_rows(*copy, rows), stderr), 0);
	for (unsigned i = 0; i < b->table.nroutes; i++)
		b->routes[i].handler = &handler;
}

#define TABLE \
	"GET /\nGET /files/{name}\nPUT /files/{file}\nPOST /files\nGET /a/{x}/c\n" \
	"GET /a/b/d\nDELETE /a/{x}/{y}\nGET /static/*\nGET /static/{x}/y\nHEAD /healthz\n" \
	"GET /s/{a}/{b}/*\nPOST /a/*\n"

/* pattern NULL: nobody's, or with methods the owner lacks the method. params: "name=value;…". */
static const struct {
	const char *table;
	enum h2d_method method;
	const char *path, *pattern, *params, *methods;
} lookups[] = {
	{ TABLE, H2D_GET, "/", "/", "", "GET, HEAD" },
	{ TABLE, H2D_HEAD, "/", "/", "", "GET, HEAD" },
	{ TABLE, H2D_POST, "/", NULL, "", "GET, HEAD" },
	{ TABLE, H2D_METHOD_UNKNOWN, "/", NULL, "", "GET, HEAD" },
	{ TABLE, H2D_GET, "/x", NULL, "", "" },
	{ TABLE, H2D_GET, "/files/a b", "/files/{name}", "name=a b;", "GET, HEAD, PUT" },
	{ TABLE, H2D_HEAD, "/files/x", "/files/{name}", "name=x;", "GET, HEAD, PUT" },
	{ TABLE, H2D_PUT, "/files/x", "/files/{file}", "file=x;", "GET, HEAD, PUT" },
	{ TABLE, H2D_DELETE, "/files/x", NULL, "", "GET, HEAD, PUT" },
	{ TABLE, H2D_GET, "/files", NULL, "", "POST" },
	{ TABLE, H2D_POST, "/files", "/files", "", "POST" },
	{ TABLE, H2D_GET, "/files/", NULL, "", "" },
	{ TABLE, H2D_GET, "/files/x/", NULL, "", "" },
	{ TABLE, H2D_GET, "/files/x/y", NULL, "", "" },
	{ TABLE, H2D_GET, "/file", NULL, "", "" },
	{ TABLE, H2D_GET, "/filez/x", NULL, "", "" },
	{ TABLE, H2D_GET, "/FILES/x", NULL, "", "" },
	/* the literal branch owns nothing here: back to the parameter, then to the rest */
	{ TABLE, H2D_GET, "/a/b/c", "/a/{x}/c", "x=b;", "GET, HEAD" },
	{ TABLE, H2D_GET, "/a/b/d", "/a/b/d", "", "GET, HEAD" },
	{ TABLE, H2D_DELETE, "/a/b/e", "/a/{x}/{y}", "x=b;y=e;", "DELETE" },
	{ TABLE, H2D_POST, "/a/b/c/d", "/a/*", "*=b/c/d;", "POST" },
	{ TABLE, H2D_POST, "/a/", "/a/*", "*=;", "POST" },
	{ TABLE, H2D_POST, "/a/b/", "/a/*", "*=b/;", "POST" },
	{ TABLE, H2D_POST, "/a", NULL, "", "" },
	/* but never for a method */
	{ TABLE, H2D_DELETE, "/a/b/d", NULL, "", "GET, HEAD" },
	{ TABLE, H2D_DELETE, "/a/x/c", NULL, "", "GET, HEAD" },
	{ TABLE, H2D_POST, "/a/b/e", NULL, "", "DELETE" },
	{ TABLE, H2D_GET, "/static/x/y", "/static/{x}/y", "x=x;", "GET, HEAD" },
	{ TABLE, H2D_GET, "/static/x/z", "/static/*", "*=x/z;", "GET, HEAD" },
	{ TABLE, H2D_GET, "/static/", "/static/*", "*=;", "GET, HEAD" },
	{ TABLE, H2D_GET, "/static", NULL, "", "" },
	{ TABLE, H2D_HEAD, "/healthz", "/healthz", "", "HEAD" },
	{ TABLE, H2D_GET, "/healthz", NULL, "", "HEAD" },
	{ TABLE, H2D_GET, "/s/1/2/3/4", "/s/{a}/{b}/*", "a=1;b=2;*=3/4;", "GET, HEAD" },
	{ TABLE, H2D_GET, "/s/1/2/", "/s/{a}/{b}/*", "a=1;b=2;*=;", "GET, HEAD" },
	{ TABLE, H2D_GET, "/s/1/2", NULL, "", "" },
	{ TABLE, H2D_OPTIONS, "*", NULL, "", "" },
	{ TABLE, H2D_GET, "", NULL, "", "" },
	{ "GET /*\n", H2D_GET, "/", "/*", "*=;", "GET, HEAD" },
	{ "GET /*\n", H2D_GET, "/a/b", "/*", "*=a/b;", "GET, HEAD" },
	{ "GET /*\nPUT /\n", H2D_GET, "/", NULL, "", "PUT" },
	{ "GET /{x}\n", H2D_GET, "/", NULL, "", "" },
	{ "GET /{x}\n", H2D_GET, "/a", "/{x}", "x=a;", "GET, HEAD" },
	{ "GET /x\nHEAD /x\n", H2D_HEAD, "/x", "/x", "", "GET, HEAD" },
	{ "", H2D_GET, "/", NULL, "", "" },
};

TEST_ROWS(test_find, lookups)
{
	struct slice path = slice_str(lookups[_i].path);
	struct route_match match;
	struct route_build b;
	char *copy, methods[METHOD_LIST], params[128] = "";
	enum route_result result;
	unsigned found;
	size_t n = 0;

	build(&b, lookups[_i].table, &copy);
	result = route_find(&b.table, H2D_ON_PUBLIC, lookups[_i].method, path, &match);
	found = route_match_methods(&b.table, H2D_ON_PUBLIC, &match);
	method_list(found, methods);
	ck_assert_str_eq(methods, lookups[_i].methods);
	if (lookups[_i].pattern == NULL) {
		ck_assert_ptr_null(match.route);
		ck_assert_int_eq(result, found != 0 ? ROUTE_METHOD : ROUTE_NONE);
	} else {
		ck_assert_int_eq(result, ROUTE_FOUND);
		ck_assert_str_eq(match.route->pattern, lookups[_i].pattern);
		for (unsigned i = 0; i < match.route->nparams; i++)
			n += (size_t)snprintf(params + n, sizeof(params) - n, "%s=%.*s;",
				match.route->params[i], SLICE_ARG(match.params[i]));
		ck_assert_str_eq(params, lookups[_i].params);
	}
	route_build_free(&b);
	free(copy);
}

/* A row of its own is HEAD's, not GET's. */
TEST(test_head_row)
{
	struct route_match match;
	struct route_build b;
	char *copy;

	build(&b, "GET /x\nHEAD /x\n", &copy);
	ck_assert_int_eq(
		route_find(&b.table, H2D_ON_PUBLIC, H2D_HEAD, SLICE("/x"), &match), ROUTE_FOUND);
	ck_assert_ptr_eq(match.route, &b.routes[1]);
	ck_assert_int_eq(
		route_find(&b.table, H2D_ON_PUBLIC, H2D_GET, SLICE("/x"), &match), ROUTE_FOUND);
	ck_assert_ptr_eq(match.route, &b.routes[0]);
	route_build_free(&b);
	free(copy);
}

/* What listeners have no row of, does not exist there: neither its path nor its methods. */
TEST(test_scope)
{
	static const struct h2d_handler public = { .name = "public", .scope = H2D_ON_PUBLIC };
	static const struct h2d_handler admin = { .name = "admin", .scope = H2D_ON_ADMIN };
	struct slice path = SLICE("/a/b");
	struct route_match match;
	struct route_build b;
	char *copy;

	build(&b, "GET /a/b\nPUT /a/b\nHEAD /a/b\nDELETE /a/{x}\n", &copy);
	b.routes[0].handler = b.routes[3].handler = &public;
	b.routes[1].handler = b.routes[2].handler = &admin;
	ck_assert_int_eq(route_find(&b.table, H2D_ON_PUBLIC, H2D_PUT, path, &match), ROUTE_METHOD);
	ck_assert_uint_eq(route_match_methods(&b.table, H2D_ON_PUBLIC, &match),
		1u << H2D_GET | 1u << H2D_HEAD);
	ck_assert_int_eq(route_find(&b.table, H2D_ON_PUBLIC, H2D_HEAD, path, &match), ROUTE_FOUND);
	ck_assert_ptr_eq(match.route, &b.routes[0]);
	ck_assert_int_eq(route_find(&b.table, H2D_ON_ADMIN, H2D_HEAD, path, &match), ROUTE_FOUND);
	ck_assert_ptr_eq(match.route, &b.routes[2]);
	ck_assert_int_eq(
		route_find(&b.table, H2D_ON_ADMIN, H2D_DELETE, path, &match), ROUTE_METHOD);
	b.routes[0].handler = &admin;
	ck_assert_int_eq(
		route_find(&b.table, H2D_ON_PUBLIC, H2D_DELETE, path, &match), ROUTE_FOUND);
	ck_assert_ptr_eq(match.route, &b.routes[3]);
	route_build_free(&b);
	free(copy);
}

/* Many siblings, put in out of order: each is found, and nothing between them. */
TEST(test_siblings)
{
	enum { N = 300 };
	static struct route_row rows[N];
	static char patterns[N][32];
	struct route_match match;
	struct route_build b;

	for (int i = 0; i < N; i++) {
		snprintf(patterns[i], sizeof(patterns[i]), "/x/%d", i * 7919 % 10007);
		rows[i] = (struct route_row){ "routes.def", i + 1, "GET", patterns[i], "thing",
			"BODY_STREAM" };
	}
	ck_assert_int_eq(route_build(&b, rows, N, stderr), 0);
	for (int i = 0; i < N; i++)
		b.routes[i].handler = &handler;
	for (int i = 0; i < N; i++) {
		char longer[40];

		ck_assert_int_eq(route_find(&b.table, H2D_ON_PUBLIC, H2D_GET,
					 slice_str(patterns[i]), &match),
			ROUTE_FOUND);
		ck_assert_ptr_eq(match.route, &b.routes[i]);
		ck_assert_int_eq(match.route->body, H2D_BODY_STREAM);
		snprintf(longer, sizeof(longer), "/x/%dx", i * 7919 % 10007);
		ck_assert_int_eq(
			route_find(&b.table, H2D_ON_PUBLIC, H2D_GET, slice_str(longer), &match),
			ROUTE_NONE);
	}
	route_build_free(&b);
}

/* Two rows of one shape and their faults: line 1 is good unless it says otherwise. */
static const struct {
	struct route_row rows[2];
	const char *fault; /* NULL: none */
} faults[] = {
	{ { { "routes.def", 1, "GET", "/a", "h", "BODY_NONE" },
		  { "routes.def", 2, "PUT", "/a", "h", "BODY_STREAM" } },
		NULL },
	{ { { "routes.def", 1, "GET", "/a/{x}", "h", "BODY_NONE" },
		  { "routes.def", 2, "PUT", "/a/{y}", "h", "BODY_NONE" } },
		NULL },
	{ { { "routes.def", 1, "GET", "/a/{x}", "h", "BODY_NONE" },
		  { "routes.def", 2, "GET", "/a/x", "h", "BODY_NONE" } },
		NULL },
	{ { { "routes.def", 1, "GET", "/a/{x}", "h", "BODY_NONE" },
		  { "routes.def", 2, "GET", "/a/*", "h", "BODY_NONE" } },
		NULL },
#define BAD(method, pattern, handler, body, why) \
	{ { { "routes.def", 1, "GET", "/good", "h", "BODY_NONE" }, \
		  { "routes.def", 7, method, pattern, handler, body } }, \
		"routes.def:7: " why "\n" },
	BAD("GET", "/good", "h", "BODY_NONE",
		"GET \"/good\" clashes with \"/good\" of routes.def:1") BAD("get", "/a", "h",
		"BODY_NONE", "unknown method \"get\"") BAD("", "/a", "h", "BODY_NONE",
		"unknown method \"\"") BAD("GET", "/a", "", "BODY_NONE",
		"\"\" cannot name a handler") BAD("GET", "/a", "a b", "BODY_NONE",
		"\"a b\" cannot name a handler") BAD("GET", "/a", "1a", "BODY_NONE",
		"\"1a\" cannot name a handler") BAD("GET", "/a", "h", "BODY_ANY",
		"unknown request body \"BODY_ANY\"") BAD("GET", "", "h", "BODY_NONE",
		"pattern \"\" does not begin with \"/\"") BAD("GET", "a/b", "h", "BODY_NONE",
		"pattern \"a/b\" does not begin with \"/\"") BAD("GET", "//", "h", "BODY_NONE",
		"bad pattern \"//\": empty segment") BAD("GET", "/a/", "h", "BODY_NONE",
		"bad pattern \"/a/\": empty segment") BAD("GET", "/a//b", "h", "BODY_NONE",
		"bad pattern \"/a//b\": empty segment") BAD("GET", "/{a", "h", "BODY_NONE",
		"bad pattern \"/{a\": unclosed brace") BAD("GET", "/{", "h", "BODY_NONE",
		"bad pattern \"/{\": unclosed brace") BAD("GET", "/{a/b}", "h", "BODY_NONE",
		"bad pattern \"/{a/b}\": unclosed brace") BAD("GET", "/{}", "h", "BODY_NONE",
		"bad pattern \"/{}\": name a parameter with letters, digits and \"_\"") BAD("GET",
		"/{a-b}", "h", "BODY_NONE",
		"bad pattern \"/{a-b}\": name a parameter with letters, digits and \"_\"")
		BAD("GET", "/{a}b", "h", "BODY_NONE",
			"bad pattern \"/{a}b\": a parameter must be a whole segment") BAD("GET",
			"/a{b}", "h", "BODY_NONE",
			"bad pattern \"/a{b}\": a parameter must be a whole segment") BAD("GET",
			"/a}", "h", "BODY_NONE",
			"bad pattern \"/a}\": a parameter must be a whole segment") BAD("GET",
			"/*/a", "h", "BODY_NONE",
			"bad pattern \"/*/a\": \"*\" is not the last segment") BAD("GET", "/a*",
			"h", "BODY_NONE",
			"bad pattern \"/a*\": a byte that patterns must not contain") BAD("GET",
			"/a b", "h", "BODY_NONE",
			"bad pattern \"/a b\": a byte that patterns must not contain") BAD("GET",
			"/a%20", "h", "BODY_NONE",
			"bad pattern \"/a%20\": a byte that patterns must not contain") BAD("GET",
			"/a?b", "h", "BODY_NONE",
			"bad pattern \"/a?b\": a byte that patterns must not contain") BAD("GET",
			"/./a", "h", "BODY_NONE",
			"bad pattern \"/./a\": paths have no dot segments") BAD("GET", "/a/..", "h",
			"BODY_NONE", "bad pattern \"/a/..\": paths have no dot segments") BAD("GET",
			"/{x}/a/{x}", "h", "BODY_NONE",
			"duplicate parameter \"x\" in \"/{x}/a/{x}\"") BAD("GET",
			"/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}", "h", "BODY_NONE",
			"more than 8 parameters in \"/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}\"")
			BAD("GET", "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/*", "h", "BODY_NONE",
				"more than 8 parameters in \"/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/*\""){
				{ { "routes.def", 3, "GET", "/{a}/b", "h", "BODY_NONE" },
					{ "routes.def", 4, "GET", "/{b}/b", "h", "BODY_NONE" } },
				"routes.def:4: GET \"/{b}/b\" clashes with \"/{a}/b\" of "
				"routes.def:3\n" },
	{ { { "routes.def", 3, "GET", "/*", "h", "BODY_NONE" },
		  { "routes.def", 4, "GET", "/*", "h", "BODY_NONE" } },
		"routes.def:4: GET \"/*\" clashes with \"/*\" of routes.def:3\n" },
	{ { { "routes.def", 3, "GOT", "/", "h", "BODY_NON" },
		  { "routes.def", 4, "PUT", "x", "", "BODY_NONE" } },
		"routes.def:3: unknown method \"GOT\"\n"
		"routes.def:3: unknown request body \"BODY_NON\"\n"
		"routes.def:4: \"\" cannot name a handler\n"
		"routes.def:4: pattern \"x\" does not begin with \"/\"\n" },
};

TEST_ROWS(test_fault, faults)
{
	struct route_build b;
	char *text;
	size_t n;
	FILE *err = open_memstream(&text, &n);
	int result = route_build(&b, faults[_i].rows, 2, err);

	fclose(err);
	ck_assert_str_eq(text, faults[_i].fault != NULL ? faults[_i].fault : "");
	ck_assert_int_eq(result, faults[_i].fault != NULL ? -1 : 0);
	route_build_free(&b);
	free(text);
}

TEST(test_print)
{
	struct route_build b;
	char *copy, *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	build(&b, "GET /files/{x}\nDELETE /a\n", &copy);
	b.routes[1].body = H2D_BODY_STREAM;
	route_print(&b.table, out);
	fclose(out);
	ck_assert_str_eq(text,
		"GET     /files/{x}                       thing                any     none\n"
		"DELETE  /a                               thing                any     stream\n");
	route_build_free(&b);
	free(copy);
	free(text);
}

TEST(test_method)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS",
		"PATCH", "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE" };

	for (unsigned i = 0; i < H2D_METHODS; i++) {
		ck_assert_int_eq(method_parse(slice_str(names[i])), i);
		ck_assert_str_eq(method_name((enum h2d_method)i), names[i]);
	}
	ck_assert_int_eq(method_parse(SLICE("")), H2D_METHOD_UNKNOWN);
	ck_assert_int_eq(method_parse(SLICE("get")), H2D_METHOD_UNKNOWN);
	ck_assert_int_eq(method_parse(SLICE("GETS")), H2D_METHOD_UNKNOWN);
	ck_assert_int_eq(method_parse(SLICE("GE")), H2D_METHOD_UNKNOWN);
	ck_assert_int_eq(method_parse(SLICE("CONNECT")), H2D_METHOD_UNKNOWN);
}

TEST(test_method_list)
{
	char buf[METHOD_LIST];

	method_list(~0u, buf);
	ck_assert_str_eq(buf,
		"GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, PROPFIND, PROPPATCH, MKCOL, "
		"COPY, MOVE");
	method_list(1u << H2D_GET | 1u << H2D_PATCH, buf);
	ck_assert_str_eq(buf, "GET, PATCH");
	method_list(0, buf);
	ck_assert_str_eq(buf, "");
}
