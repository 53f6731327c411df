/*
 * fuzz_route: lines of "METHOD /pattern", an empty line, lines of paths. The tree's answers are
 * compared with those of a matcher that knows no tree: it tries every row and takes the most
 * specific.
 */
#include <stdlib.h>

#include "http/path.h"
#include "request/route_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 64, SHAPE_MAX = 1024 };

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

/* Cuts "/segment" off *rest. */
static struct slice cut(struct slice *rest)
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
static bool matches(const char *pattern, struct slice path, char *shape, struct slice *params)
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
		struct slice left = path, want = cut(&rest), got;

		if (path.n == 0)
			return false;
		got = cut(&path);
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

static void compare(const struct route_build *b, struct slice path)
{
	struct slice params[ROWS_MAX][ROUTE_PARAMS_MAX];
	char shapes[ROWS_MAX][SHAPE_MAX], best[SHAPE_MAX] = "d";
	bool match[ROWS_MAX];
	unsigned methods = 0, n = b->table.nroutes;

	for (unsigned i = 0; i < n; i++) {
		match[i] = matches(b->routes[i].pattern, path, shapes[i], params[i]);
		if (match[i] && strcmp(shapes[i], best) < 0)
			strcpy(best, shapes[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		match[i] = match[i] && strcmp(shapes[i], best) == 0;
		if (match[i])
			methods |= 1u << b->routes[i].method;
	}
	for (unsigned m = 0; m <= H2D_METHOD_UNKNOWN; m++) {
		unsigned row = m == H2D_HEAD && !(methods & 1u << m) ? (unsigned)H2D_GET : m;
		struct route_match found;
		enum route_result result = route_find(&b->table, (enum h2d_method)m, path, &found);

		if (methods == 0) {
			MUST(result == ROUTE_NONE && found.methods == 0);
			continue;
		}
		MUST(found.methods == (methods | (methods & 1u << H2D_GET ? 1u << H2D_HEAD : 0)));
		MUST((result == ROUTE_FOUND) == !!(methods & 1u << row));
		for (unsigned i = 0; i < n && result == ROUTE_FOUND; i++) {
			if (!match[i] || b->routes[i].method != (enum h2d_method)row)
				continue;
			MUST(found.route == &b->routes[i]);
			for (unsigned p = 0; p < b->routes[i].nparams; p++)
				MUST(found.params[p].p == params[i][p].p &&
					found.params[p].n == params[i][p].n);
		}
	}
}

/* Cuts the first line off *rest and ends it with NUL in place of its line feed. */
static char *cut_line(char **rest)
{
	char *line = *rest, *lf = line != NULL ? strchr(line, '\n') : NULL;

	if (lf != NULL)
		*lf++ = '\0';
	*rest = lf;
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct route_row rows[ROWS_MAX];
	struct route_build b;
	unsigned nrows = 0;
	char *text = strndup((const char *)data, size), *rest = text, *line, *faults;
	size_t faults_n;
	FILE *err = open_memstream(&faults, &faults_n);
	int failed;

	MUST(text != NULL && err != NULL);
	while ((line = cut_line(&rest)) != NULL && *line != '\0' && nrows < ROWS_MAX) {
		char *space = strchr(line, ' ');

		if (space == NULL)
			continue;
		*space = '\0';
		rows[nrows] = (struct route_row){ (int)nrows, line, space + 1, "h", "BODY_NONE" };
		nrows++;
	}
	failed = route_build(&b, rows, nrows, err);
	fclose(err);
	MUST((failed != 0) == (faults_n > 0));
	while (failed == 0 && (line = cut_line(&rest)) != NULL) {
		struct slice path, query;
		struct arena a;

		arena_init(&a, NULL, 0, size + 65536);
		if (path_parse(slice_str(line), &a, &path, &query) == NULL)
			compare(&b, path);
		arena_reset(&a);
	}
	route_build_free(&b);
	free(faults);
	free(text);
	return 0;
}
