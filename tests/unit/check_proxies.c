/* check_proxies: which entries a list of trusted proxies may have, and whom it trusts then. */
#include "rules/proxies.h"

#include "unit.h"

static const struct {
	const char *text, *why; /* NULL: it is right */
} entries[] = {
	{ "10.0.0.0/8", NULL },
	{ "192.0.2.1", NULL },
	{ "2001:db8::/32", NULL },
	{ "unix", NULL },
	{ "all", "not an IPv4 or IPv6 address, nor \"unix\"" },
	{ "unix:", "not an IPv4 or IPv6 address, nor \"unix\"" },
	{ "", "not an IPv4 or IPv6 address, nor \"unix\"" },
	{ "10.0.0.1/8", "the address has bits set behind its prefix" },
};

TEST_ROWS(an_entry, entries)
{
	struct proxies p = { 0 };
	struct addr_range room[1];
	const char *why = proxies_add(&p, room, entries[_i].text);

	if (entries[_i].why == NULL)
		ck_assert_ptr_null(why);
	else
		ck_assert_str_eq(why, entries[_i].why);
	ck_assert_uint_eq(p.n + p.any_unix, why == NULL);
}

static const struct {
	const char *address;
	bool trusted;
} addresses[] = {
	{ "10.1.2.3:1", true },
	{ "11.1.2.3:1", false },
	{ "[2001:db8::1]:1", true },
	{ "[2001:db9::1]:1", false },
	{ "[::ffff:10.0.0.1]:1", true },
};

TEST_ROWS(an_address, addresses)
{
	struct addr_range room[2];
	struct proxies p = { 0 };
	struct addr a, nobody = { 0 }, on_unix;

	ck_assert_ptr_null(addr_parse("unix:/x", &on_unix));
	ck_assert_ptr_null(addr_parse(addresses[_i].address, &a));
	ck_assert(!proxies_trust(&p, &a) && !proxies_trust(&p, &on_unix));
	ck_assert_ptr_null(proxies_add(&p, room, "10.0.0.0/8"));
	ck_assert_ptr_null(proxies_add(&p, room, "2001:db8::/32"));
	ck_assert_int_eq(proxies_trust(&p, &a), addresses[_i].trusted);
	ck_assert(!proxies_trust(&p, &on_unix) && !proxies_trust(&p, &nobody));
	ck_assert_ptr_null(proxies_add(&p, room, "unix"));
	ck_assert(proxies_trust(&p, &on_unix) && !proxies_trust(&p, &nobody));
}

UNIT_MAIN_PURE("proxies")
