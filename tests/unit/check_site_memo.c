/* check_site_memo: it says what authority_host() and sites_find() say, the first time and later,
 * whatever came between. */
#include "rules/site_memo.h"

#include <stdio.h>

#include "http/authority.h"
#include "rules/site.h"
#include "unit.h"

static struct site v[3];
static struct site_name names[] = {
	{ SLICE_LIT("example.com"), 1 },
	{ SLICE_LIT("*.example.com"), 2 },
};
static const struct sites sites = { .v = v, .n = 3, .names = names, .nnames = 2 };
static struct site_memo memo;

static void same(const char *text)
{
	struct slice authority = slice_str(text);
	bool malformed = authority.n > 0 && authority_host(authority).n == 0;

	for (int times = 0; times < 2; times++)
		ck_assert_msg(site_memo_find(&memo, &sites, authority) ==
				      (malformed ? NULL : sites_find(&sites, authority)),
			"\"%s\"", text);
}

TEST(authorities)
{
	static const char *const list[] = { "", "example.com", "example.com:8443", "EXAMPLE.com",
		"www.example.com", "example.com:x", "[::1]", "[::1", "u@example.com", "exbmple.com",
		"ww.a.long.name.that.has.55.bytes.as.it.is.example.com:1",
		"ww.a.long.name.that.has.56.bytes.as.it.is.example.com:12" };
	unsigned n = sizeof(list) / sizeof(list[0]);

	for (unsigned times = 0; times < 3; times++)
		for (unsigned i = 0; i < n; i++) {
			same(list[i]);
			same(list[(i + 5) % n]);
		}
}

/* More than it has places for, those of all three sites on the same ones. */
TEST(many)
{
	static const char *const before[] = { "", "example.com:", "" };
	static const char *const behind[] = { ".example.com", "", ".org" };
	char text[32];

	for (unsigned i = 0; i < 9000; i++) {
		snprintf(text, sizeof(text), "%s%u%s", before[i % 3], i / 7 * 2654435761u % 1000,
			behind[i % 3]);
		same(text);
	}
}

UNIT_MAIN("site_memo")
