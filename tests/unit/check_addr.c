/* check_addr: text to address and back; every refusal says why; peers that accept(2) may report. */
#include "base/addr.h"

#include <arpa/inet.h>

#include "unit_pure.h"

static const struct {
	const char *text;
	int family;
	const char *host;
} good[] = {
	{ "127.0.0.1:80", AF_INET, "127.0.0.1" },
	{ "0.0.0.0:0", AF_INET, "0.0.0.0" },
	{ "255.255.255.255:65535", AF_INET, "255.255.255.255" },
	{ "[::1]:8443", AF_INET6, "::1" },
	{ "[::]:443", AF_INET6, "::" },
	{ "[2001:db8::8:800:200c:417a]:1", AF_INET6, "2001:db8::8:800:200c:417a" },
	{ "[::ffff:192.0.2.1]:443", AF_INET6, "::ffff:192.0.2.1" },
	{ "unix:/run/x.sock", AF_UNIX, "unix" },
	{ "unix:/x", AF_UNIX, "unix" },
};

TEST_ROWS(parses_and_formats, good)
{
	struct addr a, b;
	char text[ADDR_TEXT], host[ADDR_HOST_TEXT];

	ck_assert_ptr_null(addr_parse(good[_i].text, &a));
	ck_assert_int_eq(a.sa.sa_family, good[_i].family);
	addr_format(&a, text, sizeof(text));
	ck_assert_str_eq(text, good[_i].text);
	ck_assert_ptr_eq(addr_format_host(&a, host), host);
	ck_assert_str_eq(host, good[_i].host);
	ck_assert_str_eq(ADDR_HOST(&a), good[_i].host);
	ck_assert_ptr_null(addr_parse(text, &b));
	ck_assert(addr_equal(&a, &b));
	ck_assert_uint_eq(a.len, b.len);
}

static const struct {
	const char *text;
	const char *says;
} bad[] = {
	{ "", "empty" },
	{ "80", "port is missing" },
	{ "127.0.0.1", "port is missing" },
	{ "127.0.0.1:", "port is missing" },
	{ "127.0.0.1:x", "not a number" },
	{ "127.0.0.1:+1", "not a number" },
	{ "127.0.0.1: 1", "not a number" },
	{ "127.0.0.1:1 ", "not a number" },
	{ "127.0.0.1:080", "not a number" },
	{ "127.0.0.1:65536", "not a number" },
	{ "127.0.0.1:99999999999999999999", "not a number" },
	{ "127.0.0.1:-1", "not a number" },
	{ "127.1:80", "not a numeric IPv4 address" },
	{ "256.0.0.1:80", "not a numeric IPv4 address" },
	{ ":80", "[::]:PORT" },
	{ "localhost:80", "not a numeric IPv4 address" },
	{ "00000000000000000000000000000000000000000127.0.0.1:80", "not a numeric IPv4 address" },
	{ "*:80", "[::]:PORT" },
	{ "::1:80", "write an IPv6 address" },
	{ "[::1", "not closed" },
	{ "[::1]", "port is missing" },
	{ "[::1]80", "port is missing" },
	{ "[::1]:", "port is missing" },
	{ "[::1]:70000", "not a number" },
	{ "[]:80", "no IPv6 address" },
	{ "[127.0.0.1]:80", "no IPv6 address" },
	{ "[fe80::1%lo]:80", "no IPv6 address" },
	{ "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1", "no IPv6 address" },
	{ "unix:/", "directory" },
	{ "unix:/run/", "directory" },
	{ "unix:", "absolute" },
	{ "unix:x.sock", "absolute" },
};

TEST_ROWS(refuses, bad)
{
	struct addr a;
	const char *why = addr_parse(bad[_i].text, &a);

	ck_assert_msg(why != NULL, "%s is taken", bad[_i].text);
	ck_assert_int_eq(a.sa.sa_family, AF_UNSPEC);
	ck_assert_msg(strstr(why, bad[_i].says) != NULL, "%s: %s", bad[_i].text, why);
}

TEST(unix_path_length)
{
	struct addr a;
	char text[256], back[ADDR_TEXT];

	memset(text, 'x', sizeof(text));
	memcpy(text, "unix:/", 6);
	text[5 + 107] = '\0';
	ck_assert_ptr_null(addr_parse(text, &a));
	addr_format(&a, back, sizeof(back));
	ck_assert_str_eq(back, text);

	text[5 + 107] = 'x';
	text[5 + 108] = '\0';
	ck_assert_ptr_nonnull(strstr(addr_parse(text, &a), "107"));
}

TEST(peers)
{
	struct addr a = { .len = 0 };
	char text[ADDR_TEXT];

	addr_format(&a, text, sizeof(text));
	ck_assert_str_eq(text, "unknown");

	/*
	 * What accept(2) reports for a unix client that never bound, and for one without a final
	 * NUL.
	 */
	a.un.sun_family = AF_UNIX;
	a.len = sizeof(sa_family_t);
	addr_format(&a, text, sizeof(text));
	ck_assert_str_eq(text, "unix:");
	memset(a.un.sun_path, 'p', sizeof(a.un.sun_path));
	a.len = sizeof(a.un);
	addr_format(&a, text, sizeof(text));
	ck_assert_uint_eq(strlen(text), 5 + sizeof(a.un.sun_path));
	/* An abstract name starts with NUL. */
	a.un.sun_path[0] = '\0';
	addr_format(&a, text, sizeof(text));
	ck_assert_str_eq(text, "unix:");

	ck_assert_ptr_null(addr_parse("[2001:db8::1]:443", &a));
	addr_format(&a, text, 8);
	ck_assert_str_eq(text, "[2001:d");
}

TEST(differences)
{
	static const char *const texts[] = { "127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1", "[::1]:1",
		"[::1]:2", "[::2]:1", "unix:/a", "unix:/ab" };
	enum { N = sizeof(texts) / sizeof(texts[0]) };
	struct addr a[N];
	static const uint16_t ports[] = { 1, 2, 1, 1, 2, 1, 0, 0 };

	for (int i = 0; i < N; i++) {
		ck_assert_ptr_null(addr_parse(texts[i], &a[i]));
		ck_assert_uint_eq(addr_port(&a[i]), ports[i]);
	}
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < N; j++)
			ck_assert_int_eq(addr_equal(&a[i], &a[j]), i == j);
	}
	a[0].sa.sa_family = AF_UNSPEC;
	ck_assert(!addr_equal(&a[0], &a[0]));
}

TEST(unmaps)
{
	static const struct {
		const char *text, *is;
	} cases[] = {
		{ "[::ffff:192.0.2.1]:80", "192.0.2.1:80" },
		{ "[::192.0.2.1]:80", "[::192.0.2.1]:80" },
		{ "[2001:db8::1]:80", "[2001:db8::1]:80" },
		{ "192.0.2.1:80", "192.0.2.1:80" },
		{ "unix:/a", "unix:/a" },
	};
	char text[ADDR_TEXT];
	struct addr a;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_ptr_null(addr_parse(cases[i].text, &a));
		addr_unmap(&a);
		addr_format(&a, text, sizeof(text));
		ck_assert_str_eq(text, cases[i].is);
	}
}

static struct addr addr_of(const char *text)
{
	struct addr a;

	if (!addr_parse_host(AF_INET, slice_str(text), &a))
		ck_assert_msg(addr_parse_host(AF_INET6, slice_str(text), &a), "%s", text);
	return a;
}

static const struct {
	const char *text;
	unsigned bits;
	const char *inside; /* an address in it; NULL: it is refused, with this in the text: */
	const char *why;
} ranges[] = {
	{ "10.0.0.0/8", 104, "10.255.0.1", NULL },
	{ "10.1.2.3", 128, "10.1.2.3", NULL },
	{ "0.0.0.0/0", 96, "192.0.2.1", NULL },
	{ "192.0.2.128/25", 121, "192.0.2.255", NULL },
	{ "192.0.2.128/25", 121, "192.0.2.128", NULL },
	{ "2001:db8::/32", 32, "2001:db8:1::1", NULL },
	{ "2001:DB8::1", 128, "2001:db8::1", NULL },
	{ "fe80::/10", 10, "febf::1", NULL },
	{ "::/0", 0, "2001:db8::1", NULL },
	{ "::ffff:10.0.0.0/104", 104, "10.9.9.9", NULL },
	{ "10.0.0.0/8", 104, "::ffff:10.1.1.1", NULL },
	{ "::1", 128, "::1", NULL },
	{ "", 0, NULL, "not an" },
	{ "/8", 0, NULL, "not an" },
	{ "10.0.0", 0, NULL, "not an" },
	{ "010.0.0.1", 0, NULL, "not an" },
	{ "10.0.0.256", 0, NULL, "not an" },
	{ "example.com", 0, NULL, "not an" },
	{ "fe80::1%lo", 0, NULL, "not an" },
	{ "[::1]", 0, NULL, "not an" },
	{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc", 0, NULL, "not an" },
	{ "10.0.0.0/", 0, NULL, "0 to 32" },
	{ "10.0.0.0/33", 0, NULL, "0 to 32" },
	{ "10.0.0.0/08", 0, NULL, "0 to 32" },
	{ "10.0.0.0/-1", 0, NULL, "0 to 32" },
	{ "10.0.0.0/8x", 0, NULL, "0 to 32" },
	{ "10.0.0.0/8/8", 0, NULL, "0 to 32" },
	{ "10.0.0.0/4294967304", 0, NULL, "0 to 32" },
	{ "::/129", 0, NULL, "0 to 128" },
	{ "10.1.0.0/8", 0, NULL, "after its prefix" },
	{ "10.0.0.1/31", 0, NULL, "after its prefix" },
	{ "2001:db8::1/64", 0, NULL, "after its prefix" },
	{ "0.0.0.1/0", 0, NULL, "after its prefix" },
	{ "::ffff:0:0/95", 0, NULL, "after its prefix" },
};

TEST_ROWS(a_range, ranges)
{
	struct addr_range r;
	const char *why = addr_range_parse(ranges[_i].text, &r);
	struct addr inside;

	if (ranges[_i].inside == NULL) {
		ck_assert_msg(why != NULL && strstr(why, ranges[_i].why) != NULL, "%s: %s",
			ranges[_i].text, why);
		return;
	}
	ck_assert_msg(why == NULL, "%s: %s", ranges[_i].text, why);
	ck_assert_uint_eq(r.bits, ranges[_i].bits);
	inside = addr_of(ranges[_i].inside);
	ck_assert(addr_range_contains(&r, &inside));
}

static const struct {
	const char *range, *outside;
} apart[] = {
	{ "10.0.0.0/8", "11.0.0.1" },
	{ "10.0.0.0/8", "::1" },
	{ "10.0.0.0/8", "::a00:1" }, /* the same last bits, and no IPv4 address */
	{ "192.0.2.128/25", "192.0.2.127" },
	{ "192.0.2.1", "192.0.2.2" },
	{ "2001:db8::/32", "2001:db9::" },
	{ "fe80::/10", "fec0::" },
	{ "::1", "127.0.0.1" },
	{ "127.0.0.1", "::1" },
	/* IPv6 alone, however the IPv4 address is written. */
	{ "::/0", "192.0.2.1" },
	{ "::/0", "::ffff:192.0.2.1" },
	{ "::/64", "192.0.2.1" },
	{ "::/80", "::ffff:192.0.2.1" },
};

TEST_ROWS(not_in_it, apart)
{
	const struct addr outside = addr_of(apart[_i].outside);
	struct addr_range r;

	ck_assert_ptr_null(addr_range_parse(apart[_i].range, &r));
	ck_assert_msg(
		!addr_range_contains(&r, &outside), "%s: %s", apart[_i].range, apart[_i].outside);
}

TEST(other_families)
{
	struct addr_range all4, all6;
	struct addr a;

	ck_assert_ptr_null(addr_range_parse("0.0.0.0/0", &all4));
	ck_assert_ptr_null(addr_range_parse("::/0", &all6));
	ck_assert_ptr_null(addr_parse("unix:/run/x", &a));
	ck_assert(!addr_range_contains(&all4, &a) && !addr_range_contains(&all6, &a));
	a = (struct addr){ .len = 0 };
	ck_assert(!addr_range_contains(&all4, &a) && !addr_range_contains(&all6, &a));
}
