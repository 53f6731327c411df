/* check_addr_range: what is a range, and which addresses are in it. */
#include "base/addr_range.h"

#include "unit.h"

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
	{ "10.1.0.0/8", 0, NULL, "behind its prefix" },
	{ "10.0.0.1/31", 0, NULL, "behind its prefix" },
	{ "2001:db8::1/64", 0, NULL, "behind its prefix" },
	{ "0.0.0.1/0", 0, NULL, "behind its prefix" },
	{ "::ffff:0:0/95", 0, NULL, "behind its prefix" },
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

UNIT_MAIN_PURE("addr_range")
