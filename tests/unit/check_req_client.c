/*
 * check_req_client: whose request it is, by the fields that proxies add: of trusted ones alone, the
 * newest first; and what follows from it in rules, redirects and responses.
 */
#include "req_unit.h"
#include "request/req_client.h"
#include "share/access.h"

static const struct conf_pos at = { .file = "h2d.conf", .line = 1 };

static struct access_rule room[2];
static const struct access trusted = { room, 2 };

UNIT_SETUP(setup)
{
	sites.proxies.field = PROXIES_X_FORWARDED_FOR;
	sites.proxies.trusted = &trusted;
	ck_assert_ptr_null(access_parse("192.0.2.0/30", ACCESS_TRUST, &room[0]));
	ck_assert_ptr_null(access_parse("2001:db8::/64", ACCESS_TRUST, &room[1]));
	conn.trusted = true; /* 192.0.2.1 */
	req.target = SLICE("/a");
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	conn = (struct http_conn){ 0 };
}

static void add(const char *name, const char *value)
{
	if (value != NULL)
		req_field_add(&req, slice_str(name), slice_str(value));
}

#define P "192.0.2.2" /* proxies, too */
#define Q "2001:db8::2"
#define C "203.0.113.7"

static const struct {
	const char *first, *second; /* lines of the field; NULL: there is none */
	const char *is;
} chains[] = {
	{ C, NULL, C },
	{ "2001:db9::1", NULL, "2001:db9::1" },
	{ "10.0.0.1, " C, NULL, C },
	{ "unknown, garbage, \", " C, NULL, C },
	{ C ", " P, NULL, C },
	{ "10.0.0.1, " C ", " P ", " Q, NULL, C },
	{ "10.0.0.1", C, C },
	{ "10.0.0.1, " C, P, C },
	{ C, P ", " Q, C },
	{ C, "", C },
	{ C, ",", C },
	/* Where all are proxies, the one farthest away. */
	{ P, NULL, P },
	{ P ", " Q, NULL, P },
	/* What was not told is nobody's: neither the proxy's address nor an older one counts. */
	{ "unknown", NULL, "unknown" },
	{ C ", unknown", NULL, "unknown" },
	{ C ", _hidden, " P, NULL, "unknown" },
	{ "203.0.113.7.8", NULL, "unknown" },
	{ C, "garbage", "unknown" },
	/* Nothing was said: it is the proxy that asks. */
	{ NULL, NULL, "192.0.2.1" },
	{ "", NULL, "192.0.2.1" },
	{ ", ,", "", "192.0.2.1" },
};

TEST_ROWS(x_forwarded_for, chains)
{
	add("x-forwarded-for", chains[_i].first);
	add("forwarded", "for=198.51.100.99");
	add("x-real-ip", "198.51.100.99");
	add("x-forwarded-for", chains[_i].second);
	ck_assert_str_eq(ADDR_HOST(req_client(&req)), "192.0.2.1");
	req_start(&req);
	ck_assert_str_eq(ADDR_HOST(req_client(&req)), chains[_i].is);
	ck_assert_str_eq(h2d_req_peer(&req, NULL), chains[_i].is);
}

static const char *const x_proto[] = { NULL, "https", "http", "https, http", "http, https", "" };
static const bool x_https[] = { false, true, false, false, true, false };

TEST_ROWS(x_forwarded_proto, x_proto)
{
	add("x-forwarded-proto", x_proto[_i]);
	req.scheme = SLICE("http");
	req_start(&req);
	ck_assert_int_eq(req_client_https(&req), x_https[_i]);
	ck_assert(slice_eq(req.scheme, x_https[_i] ? SLICE("https") : SLICE("http")));
}

static const struct {
	const char *value, *is;
	bool https;
} elements[] = {
	{ "for=" C, C, false },
	{ "for=" C ";proto=https", C, true },
	{ "for=" C ";proto=https, for=" P ";proto=http", C, true },
	{ "for=" C ";proto=http, for=" P ";proto=https", C, false },
	{ "for=10.0.0.1;proto=https, for=" C, C, false },
	{ "for=\"[" Q "]:80\"", Q, false },
	{ "for=" C ", for=\"[" Q "]:80\"", C, false },
	{ "for=\"10.0.0.1, for=" C, C, false },
	{ "for=" C ", for=_x;proto=https", "unknown", true },
	{ "for=" C ", proto=https", "unknown", true },
	{ "for=" C ";proto=https;for=" C, "unknown", false },
	{ "", "192.0.2.1", false },
};

TEST_ROWS(forwarded, elements)
{
	sites.proxies.field = PROXIES_FORWARDED;
	add("forwarded", elements[_i].value);
	add("x-forwarded-for", "198.51.100.99");
	add("x-forwarded-proto", "https");
	req_start(&req);
	ck_assert_str_eq(ADDR_HOST(req_client(&req)), elements[_i].is);
	ck_assert_int_eq(req_client_https(&req), elements[_i].https);
}

static void add_all(void)
{
	add("x-forwarded-for", C);
	add("x-forwarded-proto", "https");
	add("forwarded", "for=" C ";proto=https");
}

/* Who is not trusted changes nothing, nor does anybody where no field was named. */
TEST_EACH(not_believed, 4)
{
	if (_i == 0)
		sites.proxies.field = PROXIES_NO_FIELD;
	else
		conn.trusted = false;
	if (_i == 1)
		sites.proxies.field = PROXIES_FORWARDED;
	add_all();
	conn.redirect_at = &at;
	env.conf.https_port = 443;
	req_start(&req);
	ck_assert_str_eq(ADDR_HOST(req_client(&req)), "192.0.2.1");
	ck_assert(!req_client_https(&req));
	ck_assert_int_eq(req.reply.status, 308);
}

static struct access_rule rules[2];
static struct access by_rules = { rules, 1 };

/* Rules go by it; who is unknown gets in nowhere where addresses count. */
static const struct {
	const char *rule, *chain;
	bool allow;
	int status;
} cases[] = {
	{ C, C, true, 200 },
	{ C, C, false, 403 },
	{ C, "203.0.113.8", true, 403 },
	{ C, "203.0.113.8", false, 200 },
	{ C, C ", 203.0.113.8", true, 403 },
	{ "192.0.2.0/30", C, true, 403 },
	{ "192.0.2.0/30", "garbage", true, 403 },
	{ "192.0.2.0/30", "unknown", true, 403 },
	{ "all", "unknown", true, 403 },
	{ C, "unknown", false, 403 },
	{ "192.0.2.0/30", NULL, true, 200 },
};

TEST_ROWS(rules_go_by_it, cases)
{
	ck_assert_ptr_null(access_parse(cases[_i].rule, ACCESS_ALLOW, &rules[0]));
	rules[0].allow = cases[_i].allow;
	site_v[0].all.access = &by_rules;
	add("x-forwarded-for", cases[_i].chain);
	req_start(&req);
	ck_assert_int_eq(req.reply.status, cases[_i].status);
}

TEST_EACH(came_by_https, 2)
{
	site_v[0].transport_security = SLICE("max-age=1");
	conn.redirect_at = &at;
	if (_i == 0)
		add("x-forwarded-proto", "https");
	else
		conn.tls = HTTP_TLS_PROXYS;
	req_answers(200);
	ck_assert_field("strict-transport-security", "max-age=1");
}

/* What the proxy has added may be what found no room: what is left is the client's own. */
TEST(of_half_a_head)
{
	char long_one[512];

	memset(long_one, 'x', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	env.conf.header_size = sizeof(long_one);
	add("x-forwarded-for", "10.0.0.1");
	add("x-forwarded-proto", "https");
	add("x-long", long_one);
	add("x-forwarded-for", C);
	req_answers(431);
	ck_assert_str_eq(ADDR_HOST(req_client(&req)), "192.0.2.1");
	ck_assert(!req_client_https(&req));
}
