/* check_forwarded: forwarded and x-forwarded-for from right to left, and all that is no address. */
#include "http/forwarded.h"

#include "unit_pure.h"

enum { SAID = 512 };

typedef bool last(struct slice *value, struct forwarded *f);

/* All elements from the end, as "192.0.2.1 ::1+https unknown". */
static void say(last *fn, const char *text, char said[SAID])
{
	/* Of just its size, so that a sanitizer sees what is read in front of or behind it. */
	char *copy = malloc(strlen(text) + 1);
	struct slice value = slice_of(memcpy(copy, text, strlen(text)), strlen(text));
	struct forwarded f;
	size_t n = 0;

	said[0] = '\0';
	while (fn(&value, &f))
		n += (size_t)snprintf(said + n, SAID - n, "%s%s%s", n > 0 ? " " : "",
			ADDR_HOST(&f.from), f.https ? "+https" : "");
	ck_assert_int_eq(f.from.sa.sa_family, AF_UNSPEC);
	free(copy);
}

static const struct {
	const char *text, *said;
} values[] = {
	{ "for=192.0.2.43", "192.0.2.43" },
	{ "for=192.0.2.43, for=198.51.100.17", "198.51.100.17 192.0.2.43" },
	{ "For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17" },
	{ "for=\"[2001:db8::1]\"", "2001:db8::1" },
	{ "for=\"192.0.2.1:65535\"", "192.0.2.1" },
	{ "for=\"192.0.2.1:_port\"", "192.0.2.1" },
	{ "for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60" },
	{ "by=203.0.113.43;proto=https;FOR=192.0.2.60;host=example.org", "192.0.2.60+https" },
	{ "for=192.0.2.60;proto=\"HTTPS\"", "192.0.2.60+https" },
	{ "proto=https", "unknown+https" },
	{ "for=unknown", "unknown" },
	{ "for=_hidden, for=_SEVKISEK", "unknown unknown" },
	{ "for=\"_gazonk\"", "unknown" },
	{ ",, for=192.0.2.1 ,\t, ", "192.0.2.1" },
	{ ";for=192.0.2.1;", "192.0.2.1" },
	{ "for=192.0.2.1 ; proto=https", "192.0.2.1+https" },
	{ "for=\"\\192.0.2.1\"", "192.0.2.1" },
	{ "for=\"::ffff:192.0.2.1\"", "unknown" },
	{ "for=\"[::ffff:192.0.2.1]\"", "192.0.2.1" },
	{ "", "" },
	{ " , ,", "" },

	/* A comma or a quotation mark in a string ends no element. */
	{ "for=192.0.2.1;host=\"a,b\"", "192.0.2.1" },
	{ "for=192.0.2.2, for=192.0.2.1;host=\"a\\\",\\\\\"", "192.0.2.1 192.0.2.2" },
	{ "for=192.0.2.2, for=192.0.2.1;host=\"a\\\\\\\",b\"", "192.0.2.1 192.0.2.2" },

	/* What a client has begun does not swallow what a proxy has added. */
	{ "for=\"x, for=192.0.2.1", "192.0.2.1 unknown" },
	{ "for=\"x, for=\"[2001:db8::1]\"", "2001:db8::1 unknown" },
	{ "host=\"\\\", for=192.0.2.1", "192.0.2.1 unknown" },
	{ "\\, for=\"192.0.2.1\"", "192.0.2.1 unknown" },

	/* Nothing is told by what is malformed, nor by what says it twice. */
	{ "for", "unknown" },
	{ "for=", "unknown" },
	{ "=192.0.2.1", "unknown" },
	{ "for =192.0.2.1", "unknown" },
	{ "for= 192.0.2.1", "unknown" },
	{ "for=\"192.0.2.1", "unknown" },
	{ "for=192.0.2.1\"", "unknown" },
	{ "for=\"192.0.2.1\"x", "unknown" },
	{ "for=\"192.0.2.1\\\"", "unknown" },
	{ "for=192.0.2.1;for=192.0.2.2", "unknown" },
	{ "for=192.0.2.1;proto=https;proto=http", "unknown" },
	{ "for=192.0.2.1;proto=https;x", "unknown" },
	{ "for=192.0.2.1:80", "unknown" },
	{ "for=2001:db8::1", "unknown" },
	{ "for=\"2001:db8::1\"", "unknown" },
	{ "for=[2001:db8::1]", "unknown" },
	{ "for=\"[2001:db8::1\"", "unknown" },
	{ "for=\"[2001:db8::1]x\"", "unknown" },
	{ "for=\"[192.0.2.1]\"", "unknown" },
	{ "for=\"192.0.2.1:\"", "unknown" },
	{ "for=\"192.0.2.1:123456\"", "unknown" },
	{ "for=\"192.0.2.1:8x\"", "unknown" },
	{ "for=\"192.0.2.1:_\"", "unknown" },
	{ "for=\"192.0.2.1 \"", "unknown" },
	{ "for=192.0.2.256", "unknown" },
	{ "for=192.0.2.01", "unknown" },
	{ "for=\"[fe80::1%eth0]\"", "unknown" },
	{ "for=\"192.0.2.1:80000000000000000000000000000000000000000000000000000000000000\"",
		"unknown" },
	{ "192.0.2.1", "unknown" },
};

static const struct {
	const char *text, *said;
} x_values[] = {
	{ "192.0.2.1", "192.0.2.1" },
	{ "192.0.2.1, 198.51.100.2,2001:db8::3", "2001:db8::3 198.51.100.2 192.0.2.1" },
	{ "192.0.2.1:4711", "192.0.2.1" },
	{ "[2001:db8::1]", "2001:db8::1" },
	{ "[2001:db8::1]:4711", "2001:db8::1" },
	{ "::ffff:192.0.2.1", "192.0.2.1" },
	{ "[::ffff:192.0.2.1]:1", "192.0.2.1" },
	{ " ,\t192.0.2.1 ,, ", "192.0.2.1" },
	{ "unknown, 192.0.2.1", "192.0.2.1 unknown" },
	{ "unix:", "unknown" },
	{ "example.com", "unknown" },
	{ "\"192.0.2.1\"", "unknown" },
	{ "\"a, 192.0.2.1", "192.0.2.1 unknown" },
	{ "192.0.2.1 192.0.2.2", "unknown" },
	{ "127.1", "unknown" },
	{ "0x7f.0.0.1", "unknown" },
	{ "192.0.2.1/32", "unknown" },
	{ "[2001:db8::1", "unknown" },
	{ "2001:db8::1]:80", "unknown" },
	{ "[]", "unknown" },
	{ ":80", "unknown" },
	{ "fe80::1%eth0", "unknown" },
	{ "", "" },
	{ ",", "" },
};

TEST_ROWS(a_value, values)
{
	char said[SAID];

	say(forwarded_last, values[_i].text, said);
	ck_assert_msg(strcmp(said, values[_i].said) == 0, "%s: %s, not %s", values[_i].text, said,
		values[_i].said);
}

TEST_ROWS(an_x_value, x_values)
{
	char said[SAID];

	say(forwarded_last_x, x_values[_i].text, said);
	ck_assert_msg(strcmp(said, x_values[_i].said) == 0, "%s: %s, not %s", x_values[_i].text,
		said, x_values[_i].said);
}

/* Whatever a client puts in front of it, the element that a proxy adds is read first, and whole. */
TEST(nothing_in_front_counts)
{
	static const char bytes[] = "\"\\,;= a";
	enum { N = sizeof(bytes) - 1, LONG = 5 };
	static const char *const added[] = { ",for=192.0.2.1", ",for=\"192.0.2.1:1\"",
		",host=\"\\\"\\\\\";for=192.0.2.1" };
	unsigned ways = 1;

	for (unsigned i = 0; i < LONG; i++)
		ways *= N;
	for (unsigned way = 0; way < ways; way++) {
		char text[64];
		struct forwarded f;
		struct slice value;
		unsigned rest = way;

		for (unsigned i = 0; i < LONG; i++, rest /= N)
			text[i] = bytes[rest % N];
		strcpy(text + LONG, added[way % 3]);
		value = slice_str(text);
		ck_assert(forwarded_last(&value, &f));
		ck_assert_msg(strcmp(ADDR_HOST(&f.from), "192.0.2.1") == 0, "%s", text);
		ck_assert_uint_eq(value.n, LONG);
	}
}

TEST(https)
{
	ck_assert(forwarded_is_https(SLICE("https")));
	ck_assert(forwarded_is_https(SLICE("HTTPS")));
	ck_assert(forwarded_is_https(SLICE("http, https ,")));
	ck_assert(!forwarded_is_https(SLICE("https, http")));
	ck_assert(!forwarded_is_https(SLICE("httpsx")));
	ck_assert(!forwarded_is_https(SLICE("\"https\"")));
	ck_assert(!forwarded_is_https(SLICE("")));
}
