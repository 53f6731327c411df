/*
 * check_route_random: the compiled table beside a matcher that knows no tree: h2d's own table as
 * make has printed it, and tables of random rows; for very many random paths each, on public and on
 * admin listeners. The seed is fixed.
 */

#include "route_naive.h"
#include "tools/route_build.h"
#include "unit_pure.h"

extern const struct route_table routes_table;

enum { TABLES = 300, PATHS = 300, OWN_PATHS = 20000, ROWS = 40, TEXT_MAX = 128, DEPTH = 6 };

static const struct h2d_handler handlers[] = {
	{ .name = "public", .scope = H2D_ON_PUBLIC },
	{ .name = "admin", .scope = H2D_ON_ADMIN },
	{ .name = "any", .scope = H2D_ON_ANY },
};

static uint64_t state;

static unsigned below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(state >> 33) % n;
}

static void append(char *text, const char *s)
{
	ck_assert_uint_lt(strlen(text) + strlen(s), TEXT_MAX);
	strcat(text, s);
}

/* Few words, so that rows and paths meet; some begin as others do, and some are empty. */
static const char *const words[] = { "a", "b", "ab", "abc", "files", "status.json", "healthz", "",
	"*", "{x}", "A" };
enum { WORDS = sizeof(words) / sizeof(words[0]), IN_PATTERNS = 7 };

static void random_pattern(char *text)
{
	unsigned depth = below(DEPTH);

	*text = '\0';
	if (depth == 0)
		append(text, "/");
	for (unsigned i = 0; i < depth; i++) {
		char param[16];

		append(text, "/");
		snprintf(param, sizeof(param), "{p%u}", i);
		append(text, below(3) == 0 ? param : words[below(IN_PATTERNS)]);
	}
	if (depth > 0 && below(4) == 0)
		append(text, "/*");
}

static void random_path(char *text)
{
	unsigned depth = below(DEPTH + 2);

	*text = '\0';
	if (depth == 0)
		append(text, "/");
	for (unsigned i = 0; i < depth; i++) {
		append(text, "/");
		append(text, words[below(below(8) == 0 ? WORDS : IN_PATTERNS)]);
	}
}

static void compare_all(const struct route_table *t, unsigned npaths)
{
	char text[TEXT_MAX];

	for (unsigned i = 0; i < npaths; i++) {
		enum h2d_scope here = below(2) == 0 ? H2D_ON_PUBLIC : H2D_ON_ADMIN;
		const char *fault;

		random_path(text);
		fault = naive_compare(t, slice_str(text), here);
		ck_assert_msg(fault == NULL, "\"%s\": %s", text, fault);
	}
}

TEST(own_table)
{
	state = 1;
	ck_assert_uint_gt(routes_table.nroutes, 0);
	compare_all(&routes_table, OWN_PATHS);
}

/* Rows that clash with another are left out, as no build would have them. */
static unsigned random_rows(struct route_row *rows, char (*patterns)[TEXT_MAX])
{
	unsigned n = 0;
	char shapes[ROWS][TEXT_MAX];

	for (unsigned i = 1 + below(ROWS); i > 0; i--) {
		const char *method = method_name((enum h2d_method)below(H2D_METHODS));
		unsigned k;

		random_pattern(patterns[n]);
		snprintf(shapes[n], TEXT_MAX, "%s%s", method, patterns[n]);
		for (k = 0; k < n && strcmp(shapes[k], shapes[n]) != 0; k++)
			;
		if (k == n) {
			rows[n] = (struct route_row){ "rows", (int)n, method, patterns[n], "h",
				"BODY_NONE" };
			n++;
		}
	}
	return n;
}

TEST_EACH(random_tables, TABLES)
{
	struct route_row rows[ROWS];
	char patterns[ROWS + 1][TEXT_MAX];
	struct route_build b;
	unsigned n;

	state = 2 + (uint64_t)_i;
	n = random_rows(rows, patterns);
	ck_assert_int_eq(route_build(&b, rows, n, stderr), 0);
	for (unsigned i = 0; i < n; i++)
		b.routes[i].handler = &handlers[below(3)];
	compare_all(&b.table, PATHS);
	route_build_free(&b);
}
