/*
 * fuzz_route: lines of "METHOD /pattern", an empty line, lines of paths. The tree's answers are
 * compared with those of a matcher that knows no tree, on public and on admin listeners: the scopes
 * of the rows' handlers take turns.
 */
#include "../unit/route_naive.h"
#include "driver.h"
#include "http/path.h"
#include "tools/route_build.h"

enum { ROWS_MAX = NAIVE_ROWS_MAX };

static const struct h2d_handler handlers[] = {
	{ .name = "public", .scope = H2D_ON_PUBLIC },
	{ .name = "admin", .scope = H2D_ON_ADMIN },
	{ .name = "any", .scope = H2D_ON_ANY },
};

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

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
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0' && nrows < ROWS_MAX) {
		char *space = strchr(line, ' ');

		if (space == NULL)
			continue;
		*space = '\0';
		rows[nrows] =
			(struct route_row){ "rows", (int)nrows, line, space + 1, "h", "BODY_NONE" };
		nrows++;
	}
	failed = route_build(&b, rows, nrows, err);
	fclose(err);
	MUST((failed != 0) == (faults_n > 0));
	for (unsigned i = 0; i < nrows; i++)
		b.routes[i].handler = &handlers[i * 2 % 3];
	while (failed == 0 && (line = strsep(&rest, "\n")) != NULL) {
		struct slice path, query;
		struct arena a;

		arena_init(&a, NULL, 0, size + 65536);
		if (path_parse(slice_str(line), &a, &path, &query) == NULL) {
			MUST(naive_compare(&b.table, path, H2D_ON_PUBLIC) == NULL);
			MUST(naive_compare(&b.table, path, H2D_ON_ADMIN) == NULL);
		}
		arena_reset(&a);
	}
	route_build_free(&b);
	free(faults);
	free(text);
	return 0;
}
