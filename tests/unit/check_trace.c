/* check_trace: each decision is kept in its order, with its line, and only where somebody listens.
 */
#include "request/trace.h"

#include "req_unit.h"
#include "share/access.h"

static const struct conf_pos headers_at[1];
static struct location_at all_at, place_at;
static struct access_rule rules[2];
static struct access access_of;

UNIT_SETUP(setup)
{
	env.conf.traced = true;
	all_at = (struct location_at){ .block = { .file = "h2d.conf", .line = 3 },
		.headers = headers_at };
	place_at = (struct location_at){ .block = { .file = "h2d.conf", .line = 5 },
		.allow = { .file = "h2d.conf", .line = 6 },
		.deny = { .file = "h2d.conf", .line = 7 } };
	site_v[0].name = SLICE("_");
	site_v[0].all.at = &all_at;
	locations[0].at = &place_at;
}

static void allow(const char *text, bool allowed)
{
	struct access_rule *r = &rules[access_of.n++];

	ck_assert_ptr_null(access_parse(text, ACCESS_ALLOW, r));
	r->allow = allowed;
	r->text = text;
	access_of.rules = rules;
	locations[0].access = &access_of;
}

/* The steps as "kind text@line", one a line. */
static const char *steps(void)
{
	static char all[4000];
	char *p = all;

	*p = '\0';
	for (const struct trace_step *s = req.trace; s != NULL; s = s->next)
		p += snprintf(p, (size_t)(all + sizeof(all) - p), "%s %.*s@%u\n",
			trace_names[s->kind], SLICE_ARG(s->text), s->at.line);
	return all;
}

TEST(in_their_order)
{
	allow("192.0.2.0/24", true);
	req_answers(200);
	ck_assert_str_eq(steps(),
		"server \"_\" answers by default: no server has this host name@3\n"
		"location \"/p\" applies@5\n"
		"allow admits 192.0.2.1 in \"/p\": \"192.0.2.0/24\" matches@6\n"
		"route none: h2d looks for a file@0\n");
}

TEST(the_rule_that_refuses)
{
	allow("192.0.2.0/24", true);
	allow("192.0.2.1", false);
	req_answers(403);
	ck_assert_ptr_nonnull(
		strstr(steps(), "\ndeny refuses 192.0.2.1 in \"/p\": \"192.0.2.1\" matches@7\n"));
	ck_assert_ptr_null(strstr(steps(), "route"));
}

TEST_EACH(none_holds, 2)
{
	allow("10.0.0.0/8", _i == 0);
	req_answers(_i == 0 ? 403 : 200);
	ck_assert_ptr_nonnull(strstr(
		steps(), _i == 0 ? "\nallow refuses 192.0.2.1 in \"/p\": no range matches@6\n"
				 : "\ndeny admits 192.0.2.1 in \"/p\": no range matches@7\n"));
}

/* No rule admits a client of hidden address, not even "all". */
TEST_EACH(nobody_known, 2)
{
	static const struct addr hidden;

	allow(_i == 0 ? "all" : "10.0.0.0/8", _i == 0);
	conn.peer = hidden;
	req_answers(403);
	ck_assert_ptr_nonnull(strstr(
		steps(), _i == 0 ? "\nallow refuses a client of unknown address in \"/p\"@6\n"
				 : "\ndeny refuses a client of unknown address in \"/p\"@7\n"));
	ck_assert_ptr_null(strstr(steps(), "admits"));
}

TEST_EACH(routes_and_faults, 2)
{
	req.target = SLICE("/p/upload");
	if (_i == 0)
		req.method_text = SLICE("POST");
	req_start(&req);
	ck_assert_ptr_nonnull(
		strstr(steps(), _i == 0 ? "route POST /p/upload: handler upload@0\n"
					: "method GET is not allowed for this path@0\n"));
}

TEST(what_is_malformed)
{
	req.target = SLICE("/%zz");
	req_answers(400);
	ck_assert_ptr_nonnull(strstr(steps(), "fault malformed request target@0\n"));
}

TEST(nobody_listens)
{
	env.conf.traced = false;
	req_answers(200);
	ck_assert_ptr_null(req.trace);
}

static const struct h2d_handler *asked;

static bool never(struct h2d_req *r, const struct h2d_handler *handler)
{
	ck_assert_ptr_eq(r, &req);
	asked = handler;
	return false;
}

TEST(a_handler_that_must_not_start)
{
	env.conf.starts = never;
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload");
	req_start(&req);
	ck_assert_ptr_eq(asked, &upload);
	ck_assert_int_eq(starts, 0);
	ck_assert_int_eq(replies, 0);
	ck_assert_ptr_null(req.handler);
}

UNIT_FIXTURE(NULL, req_teardown)
