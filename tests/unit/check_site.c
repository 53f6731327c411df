/* check_site: which server block answers a name, and which location a path. */
#include "rules/site.h"

#include "http/authority.h"
#include "share/access.h"
#include "unit.h"

static struct site v[5];
static struct site_name names[] = {
	{ SLICE_LIT("example.com"), 1 },
	{ SLICE_LIT("*.example.com"), 2 },
	{ SLICE_LIT("*.a.example.com"), 3 },
	{ SLICE_LIT("x.a.example.com"), 4 },
	{ SLICE_LIT("[::1]"), 1 },
};
static struct sites sites = {
	.v = v, .n = 5, .names = names, .nnames = sizeof(names) / sizeof(names[0])
};

static const struct {
	const char *authority;
	unsigned site;
} found[] = {
	{ "example.com", 1 },
	{ "EXAMPLE.com", 1 },
	{ "example.com.", 1 },
	{ "example.com:8443", 1 },
	{ "example.com.:8443", 1 },
	{ "www.example.com", 2 },
	{ "b.c.example.com", 2 },
	{ "x.a.example.com", 4 },
	{ "y.a.example.com", 3 },
	{ "z.y.a.example.com", 3 },
	{ "a.example.com", 2 },
	{ "notexample.com", 0 },
	{ ".example.com", 0 },
	{ "com", 0 },
	{ "", 0 },
	{ "example.com:x", 0 },
	{ "[::1]", 1 },
	{ "[::1]:80", 1 },
	{ "[::1", 0 },
	{ "[::1]x", 0 },
	{ "*.example.com", 2 },
	{ "127.0.0.1", 0 },
	{ "u@example.com", 0 },
	{ "example.com/", 0 },
	{ "[::1]@example.com", 0 },
	{ "example.com ", 0 },
};

TEST_ROWS(a_site, found)
{
	const struct site *s = sites_find(&sites, slice_str(found[_i].authority));

	ck_assert_msg(s == &v[found[_i].site], "%s: site %d", found[_i].authority, (int)(s - v));
	/* Here the default has no name. */
	ck_assert_ptr_eq(sites_named(&sites, slice_str(found[_i].authority)),
		found[_i].site == 0 ? NULL : s);
}

TEST(the_default_for_too_long_a_name)
{
	char name[600];

	memset(name, 'a', sizeof(name));
	memcpy(name + sizeof(name) - 12, ".example.com", 12);
	ck_assert_ptr_eq(sites_find(&sites, slice_of(name, sizeof(name))), &v[0]);
}

TEST(the_default_for_no_name)
{
	ck_assert_ptr_eq(sites_find(&sites, (struct slice){ 0 }), &v[0]);
	ck_assert_ptr_null(sites_named(&sites, (struct slice){ 0 }));
}

static const struct location locations[] = {
	{ .prefix = SLICE_LIT("/assets/fonts") },
	{ .prefix = SLICE_LIT("/assets/") },
	{ .prefix = SLICE_LIT("/files") },
};
static const struct site with_places = { .locations = locations, .nlocations = 3 };

static const struct {
	const char *path;
	int location;
} placed[] = {
	{ "/", -1 },
	{ "/assets", -1 },
	{ "/assets/", 1 },
	{ "/assets/x", 1 },
	{ "/assets/fontsx", 1 },
	{ "/assets/fonts", 0 },
	{ "/assets/fonts/", 0 },
	{ "/assets/fonts/a", 0 },
	{ "/files", 2 },
	{ "/files/a", 2 },
	{ "/filesystem", -1 },
	{ "/Files", -1 },
};

TEST_ROWS(a_place, placed)
{
	const struct location *want =
		placed[_i].location < 0 ? &with_places.all : &locations[placed[_i].location];

	ck_assert_ptr_eq(site_location(&with_places, slice_str(placed[_i].path)), want);
}

TEST(where_spelling_matters)
{
	static const struct location guarded[] = { { .prefix = SLICE_LIT("/a/b/c.html") },
		{ .prefix = SLICE_LIT("/assets/") }, { .prefix = SLICE_LIT("/") } };
	struct site site = { .locations = guarded, .nlocations = 3 };

	ck_assert_uint_eq(site_spelling_matters(&site, SLICE("/a/b")), 0);
	ck_assert_uint_eq(site_spelling_matters(&site, SLICE("/htpass~1")), UINT_MAX);
	ck_assert_uint_eq(
		site_spelling_matters(&site, SLICE("/a/\xe2\x80\x8d.git/config")), UINT_MAX);
	ck_assert_uint_eq(site_spelling_matters(&site, SLICE("/a/caf\xc3\xa9")), 0);
	site.guarded = true;
	ck_assert_uint_eq(site_spelling_matters(&site, SLICE("/a/b")), 3);
	site.locations++;
	site.nlocations--;
	ck_assert_uint_eq(site_spelling_matters(&site, SLICE("/a/b")), 1);
	site.nlocations = 0;
	ck_assert_uint_eq(site_spelling_matters(&site, SLICE("/a/b")), 0);
}

TEST(sidecars)
{
	static const struct {
		const char *path;
		int owner; /* of prefixes; -1: none */
	} cases[] = {
		{ "/a.css", 1 },
		{ "/a.css.gz", 1 },
		{ "/a.css.br.zst", 1 },
		{ "/a.css.gz/x", -1 },
		{ "/a.css.gzip", -1 },
		{ "/a.css.", -1 },
		{ "/a.cssgz", -1 },
		{ "/b.js.gz", 0 },
		{ "/b.js.br", 2 },
		{ "/b.js.gz.br", 0 },
		{ "/d/.gz", 3 },
	};
	static const struct location prefixes[] = { { .prefix = SLICE_LIT("/b.js.gz") },
		{ .prefix = SLICE_LIT("/a.css") }, { .prefix = SLICE_LIT("/b.js") },
		{ .prefix = SLICE_LIT("/d/") } };
	const struct site site = { .locations = prefixes, .nlocations = 4 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(site_location(&site, slice_str(cases[i].path)) ==
				      (cases[i].owner < 0 ? &site.all : &prefixes[cases[i].owner]),
			"%s", cases[i].path);
}

enum { TITLES = 80, PARTS = 5, ROUNDS = 300, PATHS = 30 };

static const char *random_path(void)
{
	static const char *const parts[] = { "a", "b", "/", ".gz", ".br" };
	static char text[1 + PARTS * 3 + 1];
	int n = rand() % (PARTS + 1);

	strcpy(text, "/");
	while (n-- > 0)
		strcat(text, parts[rand() % 5]);
	return text;
}

static int longest_first(const void *a, const void *b)
{
	const struct location *x = a, *y = b;

	return (x->prefix.n < y->prefix.n) - (x->prefix.n > y->prefix.n);
}

/* Makes up to TITLES locations, each title once; returns how many. */
static unsigned random_locations(struct location *l, char (*text)[32])
{
	unsigned n = 0;

	for (unsigned i = (unsigned)rand() % (TITLES + 1); i > 0; i--) {
		bool there = false;

		strcpy(text[n], random_path());
		for (unsigned k = 0; k < n; k++)
			there |= strcmp(text[k], text[n]) == 0;
		l[n].prefix = slice_str(text[n]);
		n += !there;
	}
	qsort(l, n, sizeof(*l), longest_first);
	return n;
}

TEST(many_locations_as_one_by_one)
{
	static struct location l[TITLES];
	static char text[TITLES + 1][32];
	struct prefix_entry entries[TITLES];
	unsigned searched = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct site site = { .locations = l, .nlocations = random_locations(l, text) };
		struct site indexed = site;

		for (unsigned i = 0; i < site.nlocations; i++)
			entries[i] = (struct prefix_entry){ .prefix = l[i].prefix, .of = i };
		indexed.by_prefix = prefix_index_make(entries, site.nlocations);
		for (unsigned i = 0; i < PATHS; i++) {
			struct slice path = slice_str(random_path());
			const struct location *want = site_location(&site, path);

			ck_assert_msg(site_location(&indexed, path) ==
					      (want == &site.all ? &indexed.all : want),
				"%.*s", SLICE_ARG(path));
			searched += site.nlocations > TITLES / 2 && want != &site.all;
		}
	}
	ck_assert_uint_gt(searched, 0);
}

static const struct {
	const char *pattern, *path;
	bool fits;
} rules_of_names_rows[] = {
	{ "*.woff2", "/fonts/a.woff2", true },
	{ "*.woff2", "/a.woff2/b", false },
	{ "*.woff2", "/.woff2", true },
	{ "*.woff2", "/a.woff2x", false },
	{ "*.woff2", "/a.WOFF2", true },
	{ "*[\\]^{", "/a[\\]^{", true },
	{ "*`{|}~", "/a@[\\]^", false },
	{ "app-*.js", "/app-1.2.js", true },
	{ "app-*.js", "/app-.js", true },
	{ "app-*.js", "/xapp-1.js", false },
	{ "*", "/", true },
	{ "*", "/a/b", true },
	{ "a*b*c", "/aXbXbXc", true },
	{ "a*b*c", "/aXbX", false },
	{ "**a**", "/bab", true },
	{ "a?", "/ab", false },
	{ "a?", "/a?", true },
	{ "robots.txt", "/x/robots.txt", true },
	{ "robots.txt", "/robots.txt.gz", false },
};

TEST_ROWS(rules_of_names, rules_of_names_rows)
{
	const struct file_rule rule = { .pattern = slice_str(rules_of_names_rows[_i].pattern) };
	const struct location location = { .rules = &rule, .nrules = 1 };

	ck_assert_msg((site_file_settings(&location, slice_str(rules_of_names_rows[_i].path)) ==
			      &rule.settings) == rules_of_names_rows[_i].fits,
		"%s %s", rules_of_names_rows[_i].pattern, rules_of_names_rows[_i].path);
}

/* --- the memo says what sites_find() says, the first time and later --------------------------- */

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

/* --- trusted proxies -------------------------------------------------------------------------- */

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
	struct access_rule rules[3];
	struct access trusted = { rules, 2 };
	struct proxies p = { 0 };
	struct addr a, nobody = { 0 }, on_unix;

	ck_assert_ptr_null(addr_parse("unix:/x", &on_unix));
	ck_assert_ptr_null(addr_parse(addresses[_i].address, &a));
	ck_assert(!proxies_trust(&p, &a) && !proxies_trust(&p, &on_unix));
	p.trusted = &trusted;
	ck_assert_ptr_null(access_parse("10.0.0.0/8", ACCESS_TRUST, &rules[0]));
	ck_assert_ptr_null(access_parse("2001:db8::/32", ACCESS_TRUST, &rules[1]));
	ck_assert_int_eq(proxies_trust(&p, &a), addresses[_i].trusted);
	ck_assert(!proxies_trust(&p, &on_unix) && !proxies_trust(&p, &nobody));
	ck_assert_ptr_null(access_parse("unix", ACCESS_TRUST, &rules[2]));
	trusted.n = 3;
	ck_assert(proxies_trust(&p, &on_unix) && !proxies_trust(&p, &nobody));
}

UNIT_STATEMENT(begin, qsort(names, sites.nnames, sizeof(names[0]), site_name_order))
