/* check_explain_url: URLs as people type them, and what a client makes of them. */
#include "cli/explain.h"

#include "unit_pure.h"

static const struct {
	const char *text, *authority, *host, *user, *target;
	bool tls;
	unsigned port;
} good[] = {
	{ "/a?b#c", "", "", NULL, "/a?b", false, 0 },
	{ "http://h", "h", "h", NULL, "/", false, 0 },
	{ "HTTP://h?q", "h", "h", NULL, "/?q", false, 0 },
	{ "https://h:8443/x", "h:8443", "h", NULL, "/x", true, 8443 },
	{ "http://[::1]/x", "[::1]", "::1", NULL, "/x", false, 0 },
	{ "http://[::1]:80/x", "[::1]:80", "::1", NULL, "/x", false, 80 },
	{ "http://u:p%40@h/@/:", "h", "h", "u:p@", "/@/:", false, 0 },
	{ "http://u:p@q@h/", "h", "h", "u:p@q", "/", false, 0 },
	{ "http://h/%zz/..#", "h", "h", NULL, "/%zz/..", false, 0 },
};

static bool is(struct slice s, const char *text)
{
	return slice_eq(s, slice_str(text));
}

TEST_ROWS(a_url, good)
{
	struct explain_url url;
	struct arena a;

	arena_init(&a, NULL, 0, 10000);
	ck_assert_ptr_null(explain_url_parse(&url, good[_i].text, &a));
	ck_assert(url.has_scheme == (good[_i].text[0] != '/'));
	ck_assert(url.tls == good[_i].tls);
	ck_assert(is(url.authority, good[_i].authority));
	ck_assert(is(url.host, good[_i].host));
	ck_assert_uint_eq(url.port, good[_i].port);
	ck_assert((url.user.p == NULL) == (good[_i].user == NULL));
	ck_assert(good[_i].user == NULL || is(url.user, good[_i].user));
	ck_assert(is(url.target, good[_i].target));
	arena_reset(&a);
}

static const char *const bad[] = { "", "example.com/", "ftp://h/", "http://", "http:///x",
	"http://h:65536/", "http://h:0/", "http://a b/", "http://u@/" };

TEST_ROWS(no_url, bad)
{
	struct explain_url url;
	struct arena a;

	arena_init(&a, NULL, 0, 10000);
	ck_assert_msg(explain_url_parse(&url, bad[_i], &a) != NULL, "%s", bad[_i]);
	arena_reset(&a);
}
