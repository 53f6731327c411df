/* check_access: what is an address range, and whom a list of them lets in. */
#include "http/access.h"

#include "unit.h"

static const struct {
	const char *text;
	unsigned bits;
	const char *peer;   /* one that it holds; NULL: it is refused, with this in the text: */
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
	{ "all", 0, "10.0.0.1", NULL },
	{ "all", 0, "::1", NULL },
	{ "all", 0, "unix", NULL },
	{ "unix", 0, "unix", NULL },
	{ "", 0, NULL, "not an" },
	{ "/8", 0, NULL, "not an" },
	{ "10.0.0", 0, NULL, "not an" },
	{ "010.0.0.1", 0, NULL, "not an" },
	{ "10.0.0.256", 0, NULL, "not an" },
	{ "example.com", 0, NULL, "not an" },
	{ "fe80::1%lo", 0, NULL, "not an" },
	{ "[::1]", 0, NULL, "not an" },
	{ "All", 0, NULL, "not an" },
	{ "unix/8", 0, NULL, "not an" },
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

START_TEST(a_range)
{
	struct access_range r = { .allow = true };
	const struct access a = { &r, 1 };
	const char *why = access_parse(ranges[_i].text, &r);

	ck_assert(r.allow);
	if (ranges[_i].peer == NULL) {
		ck_assert_ptr_nonnull(why);
		ck_assert_msg(strstr(why, ranges[_i].why) != NULL, "%s: %s", ranges[_i].text, why);
		return;
	}
	ck_assert_msg(why == NULL, "%s: %s", ranges[_i].text, why);
	ck_assert_uint_eq(r.bits, ranges[_i].bits);
	ck_assert(access_allows(&a, slice_str(ranges[_i].peer)));
}
END_TEST

/* +RANGE allows, -RANGE denies. */
static const struct {
	const char *rules, *peer;
	bool allowed;
} lists[] = {
	{ "", "10.0.0.1", true },
	{ "", "unix", true },
	{ "", "unknown", true },
	{ "+10.0.0.0/8", "10.0.0.1", true },
	{ "+10.0.0.0/8", "11.0.0.1", false },
	{ "+10.0.0.0/8", "::1", false },
	{ "+10.0.0.0/8", "unix", false },
	{ "+192.0.2.128/25", "192.0.2.127", false },
	{ "-10.0.0.0/8", "10.0.0.1", false },
	{ "-10.0.0.0/8", "11.0.0.1", true },
	{ "-10.0.0.0/8", "unix", true },
	{ "+10.0.0.0/8 -10.1.0.0/16", "10.1.0.1", false },
	{ "-10.1.0.0/16 +10.0.0.0/8", "10.1.0.1", false },
	{ "+10.0.0.0/8 -10.1.0.0/16", "10.2.0.1", true },
	{ "+10.0.0.0/8 -10.1.0.0/16 +10.1.1.1", "10.1.1.1", true },
	{ "+10.0.0.0/8 -10.0.0.0/8", "10.0.0.1", false },
	{ "-10.0.0.0/8 +10.0.0.0/8", "10.0.0.1", false },
	{ "-all +10.0.0.0/8", "10.0.0.1", true },
	{ "-all +10.0.0.0/8", "unix", false },
	{ "+10.0.0.0/8 -all", "11.0.0.1", false },
	{ "+all -10.0.0.0/8", "unix", true },
	{ "+all -10.0.0.0/8", "10.0.0.1", false },
	{ "+all -0.0.0.0/0", "::1", true },
	{ "+all -0.0.0.0/0", "127.0.0.1", false },
	{ "+unix", "unix", true },
	{ "+unix", "127.0.0.1", false },
	{ "+unix", "::1", false },
	{ "-unix", "unix", false },
	{ "-unix", "::1", true },
	{ "+unix -all", "unix", true },
	{ "-::/0 +unix", "unix", true },
	{ "+::/0 +10.0.0.0/8", "192.0.2.1", false },
	{ "+::/0 +10.0.0.0/8", "2001:db8::1", true },
	{ "-::/0", "192.0.2.1", true },
	{ "-::/0", "unix", true },
	{ "-::/0", "::1", false },
	{ "-::/64", "192.0.2.1", true },
	{ "-::ffff:0:0/96", "192.0.2.1", false },
	{ "-all +::/0", "::1", true },
	{ "-all +::/0", "192.0.2.1", false },
	{ "+all -::/0", "::1", false },
	{ "+all -::/0", "unix", true },
	{ "+all", "unknown", false },
	{ "-10.0.0.0/8", "unknown", false },
	{ "-10.0.0.0/8", "", false },
	{ "+::1", "127.0.0.1", false },
	{ "+127.0.0.1", "::1", false },
};

START_TEST(a_list)
{
	struct access_range r[4];
	struct access a = { r, 0 };
	char rules[100], *save = NULL;

	strcpy(rules, lists[_i].rules);
	for (char *t = strtok_r(rules, " ", &save); t != NULL; t = strtok_r(NULL, " ", &save)) {
		ck_assert_ptr_null(access_parse(t + 1, &r[a.n]));
		r[a.n++].allow = *t == '+';
	}
	ck_assert_msg(access_allows(&a, slice_str(lists[_i].peer)) == lists[_i].allowed, "\"%s\": %s",
		lists[_i].rules, lists[_i].peer);
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("access");

	tcase_add_loop_test(c, a_range, 0, sizeof(ranges) / sizeof(ranges[0]));
	tcase_add_loop_test(c, a_list, 0, sizeof(lists) / sizeof(lists[0]));
	return c;
}

UNIT_MAIN("access")
