/* check_access: what is a rule, and whom a list of them lets in. */
#include "share/access.h"

#include "unit.h"

static struct addr peer_of(const char *text)
{
	struct addr a = { 0 };

	if (strcmp(text, "unix") == 0) {
		a.un.sun_family = AF_UNIX;
		a.len = sizeof(sa_family_t);
	} else if (!addr_parse_host(AF_INET, slice_str(text), &a)) {
		if (!addr_parse_host(AF_INET6, slice_str(text), &a))
			a.sa.sa_family = AF_UNSPEC;
	}
	return a;
}

static const struct {
	const char *text, *why; /* NULL: it is a rule */
} parsed[] = {
	{ "all", NULL },
	{ "unix", NULL },
	{ "10.0.0.0/8", NULL },
	{ "::/0", NULL },
	{ "All", "\"unix\" or \"all\"" },
	{ "unix/8", "\"unix\" or \"all\"" },
	{ "example.com", "not an IPv4 or IPv6 address" },
	{ "10.0.0.0/33", "0 to 32" },
	{ "10.1.0.0/8", "after its prefix" },
};

TEST_ROWS(a_rule, parsed)
{
	struct access_rule r = { .allow = true };
	const char *why = access_parse(parsed[_i].text, ACCESS_ALLOW, &r);

	ck_assert(r.allow);
	if (parsed[_i].why == NULL)
		ck_assert_msg(why == NULL, "%s: %s", parsed[_i].text, why);
	else
		ck_assert_msg(why != NULL && strstr(why, parsed[_i].why) != NULL, "%s: %s",
			parsed[_i].text, why);
}

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
	{ "-::/0", "::ffff:192.0.2.1", true },
	{ "+10.0.0.0/8", "::ffff:10.1.1.1", true },
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

TEST_ROWS(a_list, lists)
{
	struct access_rule r[4];
	struct access a = { r, 0 };
	char rules[100], *save = NULL;
	const struct addr peer = peer_of(lists[_i].peer);

	strcpy(rules, lists[_i].rules);
	for (char *t = strtok_r(rules, " ", &save); t != NULL; t = strtok_r(NULL, " ", &save)) {
		ck_assert_ptr_null(access_parse(t + 1, ACCESS_ALLOW, &r[a.n]));
		r[a.n++].allow = *t == '+';
	}
	ck_assert_msg(access_allows(&a, &peer) == lists[_i].allowed, "\"%s\": %s", lists[_i].rules,
		lists[_i].peer);
}
