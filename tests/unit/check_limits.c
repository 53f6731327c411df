/* check_limits: whose requests are counted together, who is refused and how, and who is not. */
#include "request/pace.h"

#include "base/clock.h"
#include "req_unit.h"
#include "request/req_client.h"
#include "share/access.h"

enum { MANY = 4 };

static struct tally *tally;
static struct accounts *all;
static struct rate rate;
static struct access_rule ranges[1];
static struct access exempt;
static struct account_keys keys;

static void know(const struct access *who)
{
	if (all != NULL) {
		account_close(&conn.account);
		accounts_free(&all);
	}
	all = accounts_new(MANY, &keys, 64, who);
	ck_assert_ptr_nonnull(all);
	env.accounts = all;
	conn.account = account_open(all, &conn.peer);
}

UNIT_SETUP(setup)
{
	clock_set(1000 * 1000, (struct timespec){ 0 });
	ck_assert(account_keys_make(&keys));
	tally = env.tally = tally_new();
	ck_assert_ptr_nonnull(tally);
	all = NULL;
	know(NULL);
	rate = rate_of(2, 3, "", "requests");
	site_v[0].all.requests = site_v[1].all.requests = locations[0].requests = &rate;
	site_v[0].guarded = false;
	ck_assert_ptr_null(access_parse("192.0.2.0/24", ACCESS_ALLOW, &ranges[0]));
	ranges[0].allow = true;
	exempt = (struct access){ ranges, 1 };
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	account_close(&conn.account);
	accounts_free(&all);
	tally_free(&tally);
}

/* The status of one more request. */
static int ask_for(const char *target, const char *forwarded)
{
	if (req.state == REQ_WAIT || req.state == REQ_REPLY || req.state == REQ_DONE)
		req_fini(&req);
	if (req.state == REQ_GONE)
		req_init(&req, &env, &conn, &ops);
	req.method_text = SLICE("GET");
	req.authority = SLICE("example.com");
	req.target = slice_str(target);
	if (forwarded != NULL)
		ck_assert_int_eq(
			req_field_add(&req, SLICE("x-forwarded-for"), slice_str(forwarded)), 0);
	req_start(&req);
	ck_assert(req.reply.ready);
	return req.reply.status;
}

static int ask(void)
{
	return ask_for("/p/a", NULL);
}

static int64_t struck(void)
{
	return counters_get(counters, COUNTER_limit_requests);
}

TEST(refused_until_its_time)
{
	int64_t before = struck();

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(ask(), 429);
	ck_assert_field("retry-after", "1");
	ck_assert_int_eq(struck(), before + 1);
	ck_assert_ptr_eq(req.record.error, ERR_REQUEST_RATE);
	clock_set(1499 * 1000, (struct timespec){ 0 });
	ck_assert_int_eq(ask(), 429);
	clock_set(1500 * 1000, (struct timespec){ 0 });
	ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(ask(), 429);
	ck_assert_int_eq(starts, 4);
}

TEST(retry_after_is_in_seconds)
{
	rate = rate_of(1, 1, "", "requests");
	rate.cost_ns *= 90;
	rate.depth_ns *= 90;
	ck_assert_int_eq(ask(), 200);
	clock_set(1001 * 1000, (struct timespec){ 0 });
	ck_assert_int_eq(ask(), 429);
	ck_assert_field("retry-after", "90");
}

/* What is wrong with a request makes it no cheaper. */
TEST(faults_count_too)
{
	ck_assert_int_eq(ask_for("/%zz", NULL), 400);
	ck_assert_int_eq(ask_for("/%zz", NULL), 400);
	ck_assert_int_eq(ask_for("/%zz", NULL), 400);
	ck_assert_int_eq(ask_for("/%zz", NULL), 429);
}

static int page_status;
static void error_page(struct h2d_req *r, int status, struct slice file)
{
	ck_assert(slice_eq(file, SLICE("/calm.html")));
	page_status = status;
	reply_own_page(r, status);
}

TEST(site_has_a_page)
{
	static const struct site_error_page page = { .status = 429,
		.file = SLICE_LIT("/calm.html") };

	site_v[0].all.error_pages = &page;
	site_v[0].all.nerror_pages = 1;
	env.conf.error_page = error_page;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(ask(), 429);
	ck_assert_int_eq(page_status, 429);
	ck_assert_field("retry-after", "1");
}

TEST(location_counts_for_itself)
{
	struct rate own = rate_of(2, 1, "_ /p", "requests");

	locations[0].requests = &own;
	ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(ask(), 429);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask_for("/", NULL), 200);
	ck_assert_int_eq(ask_for("/", NULL), 429);
	locations[0].requests = NULL;
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(ask(), 200);
	locations[0].requests = &rate;
}

static const struct h2d_handler health = { .name = "health", .start = fallback_start };

TEST(health_is_free)
{
	site_v[0].health = SLICE("/healthz");
	env.conf.health = &health;
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(ask_for("/healthz", NULL), 200);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(ask(), 429);
}

TEST(exempt_client)
{
	know(&exempt);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(ask(), 200);
	ck_assert(addr_parse_host(AF_INET, SLICE("198.51.100.1"), &conn.peer));
	know(&exempt);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(ask(), 429);
}

TEST(dry_run)
{
	int64_t before = struck();

	sites.dry_run = true;
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(ask(), 200);
	ck_assert_int_eq(struck(), before + 7);
}

/* Behind a trusted proxy each client counts for itself, more of them than there are accounts, too.
 */
TEST(behind_a_proxy)
{
	struct account *others[MANY];
	char text[32];

	conn.trusted = true;
	sites.proxies.field = PROXIES_X_FORWARDED_FOR;
	for (int full = 0; full < 2; full++) {
		for (unsigned i = 0; i < 10; i++) {
			snprintf(text, sizeof(text), "198.51.%d.%u", full, i);
			for (int k = 0; k < 3; k++)
				ck_assert_int_eq(ask_for("/p/a", text), 200);
			ck_assert_int_eq(ask_for("/p/a", text), 429);
			ck_assert_int_eq(account_is_crowd(req_account(&req)), full);
		}
		req_fini(&req);
		for (unsigned i = 0; full == 0 && i < MANY; i++) {
			struct addr a;

			snprintf(text, sizeof(text), "203.0.113.%u", i);
			ck_assert(addr_parse_host(AF_INET, slice_str(text), &a));
			others[i] = account_open(all, &a);
		}
	}
	for (unsigned i = 0; i < MANY; i++)
		account_close(&others[i]);
}

TEST(without_a_table)
{
	env.tally = NULL;
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(ask(), 200);
}
