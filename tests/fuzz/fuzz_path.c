/*
 * fuzz_path: any bytes as a request target. What is accepted keeps the promises of path.h, and
 * comes out the same when it is encoded and read again.
 */
#include "driver.h"
#include "http/path.h"

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

static void check(struct slice path)
{
	size_t begin = 1;

	MUST(path.n > 0 && path.p[0] == '/' && path.p[path.n] == '\0');
	MUST(memchr(path.p, '\0', path.n) == NULL);
	for (size_t i = 1; i <= path.n; i++) {
		struct slice segment = slice_of(path.p + begin, i - begin);

		if (i < path.n && path.p[i] != '/')
			continue;
		MUST(segment.n > 0 || i == path.n);
		MUST(!slice_eq(segment, SLICE(".")) && !slice_eq(segment, SLICE("..")));
		begin = i + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice target = slice_of(data, size), path, again, query, rest;
	struct arena a;

	arena_init(&a, NULL, 0, 8 * size + 65536);
	if (path_parse(target, &a, &path, &query) == NULL) {
		const char *mark = memchr(target.p, '?', target.n);

		check(path);
		MUST((mark != NULL) == (query.p != NULL));
		MUST(mark == NULL || (query.p == mark + 1 && query.p + query.n == target.p + size));
		MUST(path_parse(path_encode(path, &a), &a, &again, &rest) == NULL);
		MUST(slice_eq(path, again) && rest.n == 0);
	}
	arena_reset(&a);
	return 0;
}
