/* check_authority: the host of every form an authority can have, and what is malformed. */
#include "http/authority.h"

#include "unit_pure.h"

static const struct {
	const char *authority, *host;
} cases[] = {
	{ "a", "a" },
	{ "Example.COM", "Example.COM" },
	{ "example.com.", "example.com" },
	{ "example.com..", "example.com." },
	{ "example.com:", "example.com" },
	{ "example.com:443", "example.com" },
	{ "example.com.:443", "example.com" },
	{ "a-b.c_d~!$&'()*+,;=", "a-b.c_d~!$&'()*+,;=" },
	{ "%41b%2E%fF", "%41b%2E%fF" },
	{ "192.0.2.1:80", "192.0.2.1" },
	{ "[::1]", "[::1]" },
	{ "[::ffff:192.0.2.1]:80", "[::ffff:192.0.2.1]" },
	{ "", "" },
	{ ".", "" },
	{ ":80", "" },
	{ "%zz", "" },
	{ "%", "" },
	{ "%4", "" },
	{ "a%4", "" },
	{ "a%4g", "" },
	{ "a%", "" },
	{ "a:%41", "" },
	{ "a:8x", "" },
	{ "a:80:80", "" },
	{ "u@a", "" },
	{ "u:p@a", "" },
	{ "a b", "" },
	{ " a", "" },
	{ "a ", "" },
	{ "a/b", "" },
	{ "a?b", "" },
	{ "a#b", "" },
	{ "a\\b", "" },
	{ "\xc3\xa4", "" },
	{ "[", "" },
	{ "[]", "" },
	{ "[::1", "" },
	{ "[::1]x", "" },
	{ "[::1]@a", "" },
	{ "[::1%25eth0]", "" },
	{ "[g::1]", "" },
	{ "a[::1]", "" },
};

TEST_ROWS(a_host, cases)
{
	/* In memory of its own, so that sanitizers see a byte read behind it. */
	size_t n = strlen(cases[_i].authority);
	char *copy = malloc(n > 0 ? n : 1);
	struct slice host;

	memcpy(copy, cases[_i].authority, n);
	host = authority_host(slice_of(copy, n));
	ck_assert_msg(slice_eq(host, slice_str(cases[_i].host)), "\"%s\": \"%.*s\"",
		cases[_i].authority, SLICE_ARG(host));
	free(copy);
}
