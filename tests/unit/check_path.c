/* check_path: what becomes of request targets, easy way and slow, and paths encoded again. */
#include "http/path.h"

#include "unit_pure.h"

/* A target; path NULL: refused. query NULL: none. */
static const struct {
	const char *target, *path, *query;
} cases[] = {
	{ "/", "/", NULL },
	{ "/a", "/a", NULL },
	{ "/a/b.c/", "/a/b.c/", NULL },
	{ "/a?x=1", "/a", "x=1" },
	{ "/?", "/", "" },
	{ "/a?b?c/../%zz//", "/a", "b?c/../%zz//" },
	{ "/a%20b//./c?x=1", "/a b/c", "x=1" },
	{ "/%61%62", "/ab", NULL },
	{ "/%c3%A4", "/\xc3\xa4", NULL },
	{ "/\xc3\xa4", "/\xc3\xa4", NULL },
	{ "/a%3Fb", "/a?b", NULL },
	{ "/a%25b", "/a%b", NULL },
	{ "/a%2562", "/a%62", NULL }, /* decoded once, not twice */
	{ "/a%5cb", "/a\\b", NULL },
	{ "/a%0ab", "/a\nb", NULL }, /* a file may be called that */
	{ "/a+b", "/a+b", NULL },
	{ "/a;b=c", "/a;b=c", NULL },
	{ "//", "/", NULL },
	{ "///", "/", NULL },
	{ "//etc/passwd", "/etc/passwd", NULL },
	{ "/a//b///c//", "/a/b/c/", NULL },
	{ "/.", "/", NULL },
	{ "/./", "/", NULL },
	{ "/a/.", "/a/", NULL },
	{ "/a/./b", "/a/b", NULL },
	{ "/a/..", "/", NULL },
	{ "/a/../", "/", NULL },
	{ "/a/b/..", "/a/", NULL },
	{ "/a/b/../c", "/a/c", NULL },
	{ "/a/b/../../c", "/c", NULL },
	{ "/a//../b", "/b", NULL },
	{ "/a/%2e%2e/b", "/b", NULL },
	{ "/a/.%2E/b", "/b", NULL },
	{ "/%2e/a", "/a", NULL },
	{ "/...", "/...", NULL },
	{ "/.a", "/.a", NULL },
	{ "/..a/a../.a.", "/..a/a../.a.", NULL },
	{ "/a/.../b", "/a/.../b", NULL },
	{ "/.well-known/x", "/.well-known/x", NULL },
	{ "", NULL, NULL },
	{ "*", NULL, NULL },
	{ "a", NULL, NULL },
	{ "?a", NULL, NULL },
	{ "http://h/", NULL, NULL },
	{ "/..", NULL, NULL },
	{ "/../", NULL, NULL },
	{ "/../etc/passwd", NULL, NULL },
	{ "/a/../..", NULL, NULL },
	{ "/a/../../b", NULL, NULL },
	{ "/./../a", NULL, NULL },
	{ "//../a", NULL, NULL },
	{ "/%2e%2e/a", NULL, NULL },
	{ "/%", NULL, NULL },
	{ "/%4", NULL, NULL },
	{ "/a%", NULL, NULL },
	{ "/%zz", NULL, NULL },
	{ "/%4g", NULL, NULL },
	{ "/%-1", NULL, NULL },
	{ "/%4?1", NULL, NULL },
	{ "/a%00b", NULL, NULL },
	{ "/..%2fetc", NULL, NULL },
	{ "/%2fetc", NULL, NULL },
	{ "/a%2f", NULL, NULL },
	{ "/a%2f/b", NULL, NULL },
	{ "/a%2f%2fb", NULL, NULL },
	{ "/a%2f.%2fb", NULL, NULL },
	{ "/a%2fb/../c", NULL, NULL },
	{ "/a//b%2fc", NULL, NULL },
	{ "/a%2f..", NULL, NULL },
	{ "/a%2f%2e%2e%2fb", NULL, NULL },
	{ "/a\tb", NULL, NULL },
	{ "/a\nb", NULL, NULL },
	{ "/a\x7f", NULL, NULL },
	{ "/a?b\r", NULL, NULL },
	{ "/a#b", NULL, NULL },
	{ "/#", NULL, NULL },
	{ "/a?b#c", NULL, NULL },
	{ "/a%23b", "/a#b", NULL },
};

TEST_ROWS(test_parse, cases)
{
	/* exactly sized, so that a sanitizer sees a byte read too far */
	size_t n = strlen(cases[_i].target);
	char *target = malloc(n);
	struct slice path, query;
	struct arena a;
	const struct err *err;

	memcpy(target, cases[_i].target, n);
	arena_init(&a, NULL, 0, 1 << 20);
	err = path_parse(slice_of(target, n), &a, &path, &query);
	if (cases[_i].path == NULL) {
		ck_assert_ptr_eq(err, ERR_BAD_PATH);
	} else {
		ck_assert_msg(err == NULL, "%s", cases[_i].target);
		ck_assert_str_eq(path.p, cases[_i].path);
		ck_assert_uint_eq(path.n, strlen(cases[_i].path));
		if (cases[_i].query != NULL)
			ck_assert_mem_eq(query.p, cases[_i].query, strlen(cases[_i].query));
		ck_assert_uint_eq(query.n, slice_str(cases[_i].query).n);
	}
	arena_reset(&a);
	free(target);
}

TEST(test_nul)
{
	struct slice path, query;
	struct arena a;

	arena_init(&a, NULL, 0, 1 << 20);
	ck_assert_ptr_eq(path_parse(slice_of("/a\0b", 4), &a, &path, &query), ERR_BAD_PATH);
	ck_assert_ptr_eq(path_parse(slice_of("/a?\0", 4), &a, &path, &query), ERR_BAD_PATH);
	arena_reset(&a);
}

TEST(test_no_memory)
{
	struct slice path, query;
	struct arena a;
	char first[16];

	arena_init(&a, first, sizeof(first), 0);
	ck_assert_ptr_eq(path_parse(SLICE("/123456789012345"), &a, &path, &query), ERR_NO_MEMORY);
	ck_assert_ptr_null(path_encode(SLICE("/123456789012345"), &a).p);
	ck_assert_ptr_null(path_parse(SLICE("/12345678901234"), &a, &path, &query));
	ck_assert_str_eq(path.p, "/12345678901234");
	arena_reset(&a);
}

static const struct {
	const char *path, *encoded;
} encodings[] = {
	{ "/", "/" },
	{ "/a/b.c-d_e~f/", "/a/b.c-d_e~f/" },
	{ "/!$&'()*+,;=:@", "/!$&'()*+,;=:@" },
	{ "/a b", "/a%20b" },
	{ "/a?b#c%d", "/a%3Fb%23c%25d" },
	{ "/\xc3\xa4\n\\", "/%C3%A4%0A%5C" },
	{ "/\"<>[]^`{|}", "/%22%3C%3E%5B%5D%5E%60%7B%7C%7D" },
};

/* It parts segments, and whoever asked is told. */
TEST(test_slash)
{
	static const char *const targets[][2] = { { "/a%2fb", "/a/b" }, { "/a%2Fb", "/a/b" },
		{ "/@s%2fn", "/@s/n" }, { "/x/@s%2fn?a%2fb", "/x/@s/n" }, { "/a%2fb/", "/a/b/" },
		{ "/a%2f.b", "/a/.b" } };
	struct slice path, query;
	struct arena a;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		arena_init(&a, NULL, 0, 1 << 20);
		ck_assert_ptr_eq(
			path_parse(slice_str(targets[i][0]), &a, &path, &query), ERR_PATH_SLASH);
		ck_assert_str_eq(path.p, targets[i][1]);
		arena_reset(&a);
	}
	arena_init(&a, NULL, 0, 1 << 20);
	ck_assert_ptr_null(path_parse(SLICE("/a?b%2fc"), &a, &path, &query));
	arena_reset(&a);
}

TEST(test_hidden)
{
	static const char *const hidden[] = { "/.a", "/a/.b/c", "/..a", "/.well-known/.a",
		"/.well-knownx", "/a/.git/", "/a.b/.c", "/a..b/.c", "/.well-known/a./.b" };
	static const char *const shown[] = { "/", "/a", "/a.b/c.", "/.well-known",
		"/a/.well-known/b", "", ".a", "/a..b", "/a./b" };

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		ck_assert_msg(path_hidden(slice_str(hidden[i])), "%s", hidden[i]);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		ck_assert_msg(!path_hidden(slice_str(shown[i])), "%s", shown[i]);
	ck_assert(path_hidden_name(SLICE(".a")) && path_hidden_name(SLICE(".")));
	ck_assert(!path_hidden_name(SLICE(".well-known")) && !path_hidden_name(SLICE("a")));
}

TEST_ROWS(test_encode, encodings)
{
	struct slice encoded, path, query;
	struct arena a;

	arena_init(&a, NULL, 0, 1 << 20);
	encoded = path_encode(slice_str(encodings[_i].path), &a);
	ck_assert_str_eq(encoded.p, encodings[_i].encoded);
	ck_assert_uint_eq(encoded.n, strlen(encodings[_i].encoded));
	ck_assert_ptr_null(path_parse(encoded, &a, &path, &query));
	ck_assert_str_eq(path.p, encodings[_i].path);
	arena_reset(&a);
}
