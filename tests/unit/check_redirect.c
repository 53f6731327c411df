/* check_redirect: where redirects of the configuration send a client: what it sent never chooses
 * the host. */
#include "rules/redirect.h"

#include "http/field.h"
#include "unit.h"

static const struct {
	const char *prefix, *redirect, *path, *query, *location;
} locations[] = {
	{ "/old", "/new", "/old", "", "/new" },
	{ "/old", "/new", "/old/a", "q=1", "/new" },
	{ "/old", "/new/", "/old", "", "/new/" },
	{ "/old", "/new/", "/old/", "", "/new/" },
	{ "/old", "/new/", "/old/a/b/", "", "/new/a/b/" },
	{ "/old/", "/new/", "/old/a", "q=1&r=%20", "/new/a?q=1&r=%20" },
	{ "/old/", "https://example.org/x/", "/old/a", "", "https://example.org/x/a" },
	{ "/", "https://www.example.org/", "/a/b", "q", "https://www.example.org/a/b?q" },
	{ "/", "https://www.example.org/", "/", "", "https://www.example.org/" },
	{ "/old", "/new/", "/old.gz", "", "/new/" },
	{ "/old/", "/new/", "/old/.gz", "", "/new/.gz" },
	/* "//host" is another host, and browsers read a backslash as a slash */
	{ "/old", "/", "/old/evil.example", "", "/evil.example" },
	{ "/old/", "/", "/old/evil.example/x", "", "/evil.example/x" },
	{ "/old/", "/", "/old/\\evil.example", "", "/%5Cevil.example" },
	{ "/old/", "/", "/old/\t/evil.example", "", "/%09/evil.example" },
	{ "/old/", "/new/", "/old/a\r\nset-cookie: x", "", "/new/a%0D%0Aset-cookie:%20x" },
	{ "/old/", "/new/", "/old/?", "", "/new/%3F" },
	{ "/old/", "/new/", "/old/%2e%2e", "", "/new/%252e%252e" },
	{ "/old/", "/new/", "/old/\xc3\xa4", "\xc3\xa4 b\"", "/new/%C3%A4?%C3%A4%20b%22" },
	{ "/old/", "/new/", "/old/a", "x=//evil", "/new/a?x=//evil" },
};

static struct arena arena;

UNIT_SETUP(setup)
{
	arena_init(&arena, NULL, 0, 1 << 20);
}

UNIT_TEARDOWN(teardown)
{
	arena_reset(&arena);
}

TEST_ROWS(a_place, locations)
{
	struct slice target = slice_str(locations[_i].redirect);
	const struct redirect redirect = { .prefix = slice_str(locations[_i].prefix),
		.to = target,
		.keeps = target.p[target.n - 1] == '/' };
	struct slice to = redirect_location(
		&redirect, slice_str(locations[_i].path), slice_str(locations[_i].query), &arena);

	ck_assert_msg(slice_eq(to, slice_str(locations[_i].location)), "%.*s, not %s",
		SLICE_ARG(to), locations[_i].location);
	ck_assert(field_value_valid(to));
}

static const struct {
	const char *host;
	uint16_t port;
	const char *target, *location;
} to_https[] = {
	{ "example.com", 443, "/", "https://example.com/" },
	{ "example.com", 8443, "/a?b=c", "https://example.com:8443/a?b=c" },
	{ "[::1]", 443, "/a%2Fb//c/../d?e?f", "https://[::1]/a%2Fb//c/../d?e?f" },
	{ "example.com", 443, "//evil.example/", "https://example.com//evil.example/" },
	{ "example.com", 443, "/\\evil\x01\xff \"<>`{|}^~",
		"https://example.com/%5Cevil%01%FF%20%22%3C%3E%60%7B%7C%7D%5E~" },
};

TEST_ROWS(https, to_https)
{
	struct slice to = redirect_to_https(slice_str(to_https[_i].host), to_https[_i].port,
		slice_str(to_https[_i].target), &arena);

	ck_assert_msg(slice_eq(to, slice_str(to_https[_i].location)), "%.*s, not %s", SLICE_ARG(to),
		to_https[_i].location);
	ck_assert(field_value_valid(to));
}

/* It may be kept behind any target, and dropped behind any. */
static const struct {
	const char *prefix, *redirect, *path, *query, *kept;
} paths[] = {
	{ "/old", "/new", "/old", "", "/new" },
	{ "/old", "/new", "/old/", "", "/new" },
	{ "/old", "/new", "/old/a/b", "q", "/new/a/b?q" },
	{ "/old/", "/new", "/old/a", "", "/new/a" },
	{ "/old/", "/new/", "/old/a", "", "/new/a" },
	{ "/", "https://example.org", "/a", "", "https://example.org/a" },
	{ "/", "https://example.org", "//evil.example", "", "https://example.org/evil.example" },
	{ "/", "https://example.org", "/@evil.example", "", "https://example.org/@evil.example" },
};

TEST_ROWS(as_it_is_said, paths)
{
	struct redirect redirect = { .prefix = slice_str(paths[_i].prefix),
		.to = slice_str(paths[_i].redirect) };
	struct slice path = slice_str(paths[_i].path), query = slice_str(paths[_i].query);

	ck_assert(slice_eq(redirect_location(&redirect, path, query, &arena), redirect.to));
	redirect.keeps = true;
	ck_assert(slice_eq(
		redirect_location(&redirect, path, query, &arena), slice_str(paths[_i].kept)));
}

TEST(no_memory)
{
	const struct redirect redirect = {
		.prefix = SLICE("/"), .to = SLICE("/new/"), .keeps = true
	};
	struct arena small;

	arena_init(&small, NULL, 0, 0);
	ck_assert_ptr_null(redirect_to_https(SLICE("h"), 443, SLICE("/"), &small).p);
	ck_assert_ptr_null(redirect_location(&redirect, SLICE("/a"), SLICE("b"), &small).p);
}
