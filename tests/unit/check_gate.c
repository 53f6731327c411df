/*
 * check_gate: the rules in their order, and a request that waits for a verdict: its body is held,
 * handed on in order, or given back, and it may go away at any time.
 */
#include <crypt.h>

#include "auth/auth_queue.h"
#include "base/clock.h"
#include "loop_unit.h"
#include "req_unit.h"
#include "request/gate.h"
#include "share/access.h"
#include "tree_unit.h"

static const struct conf_pos at = { .file = "h2d.conf", .line = 1 };

static struct offload *offload;
static struct access_rule ranges[1];
static struct access nobody = { ranges, 1 };
static struct auth auth;
static char file[sizeof(tree) + 6];
static int covered;
static const char *host_asked;

#define RIGHT   "Basic YW5uYTpzZWNyZXQ=" /* anna:secret */
#define WRONG   "Basic YW5uYTp3cm9uZw==" /* anna:wrong */
#define UNKNOWN "Basic Ym9iOnNlY3JldA==" /* bob:secret */

static void write_file(void)
{
	char salt[CRYPT_GENSALT_OUTPUT_SIZE], line[CRYPT_OUTPUT_SIZE + 10];

	snprintf(file, sizeof(file), "%s/users", tree);
	ck_assert_ptr_nonnull(crypt_gensalt_rn("$2b$", 4, NULL, 0, salt, sizeof(salt)));
	snprintf(line, sizeof(line), "anna:%s\n", crypt("secret", salt));
	tree_text("users", line);
}

/* Others than the core's own: it compares them, and never looks into one. */
struct tls_cert {
	char any;
};
struct tls_client_ca {
	char any;
};

static const struct tls_cert own_certificate, other_certificate;

UNIT_SETUP(setup)
{
	clock_update();
	write_file();
	offload = offload_new(&loop, 4);
	env.auth_queue = auth_queue_new(&loop, offload);
	env.conf.https_port = 443;
	auth = (struct auth){ .file = file, .realm = SLICE("the \"vault\"") };
	ck_assert_ptr_null(access_parse("192.0.2.1", ACCESS_ALLOW, &ranges[0]));
	ranges[0].allow = false;
	site_v[1].certificate = &own_certificate;
}

UNIT_TEARDOWN(teardown)
{
	req_teardown();
	offload_free(&offload);
	auth_queue_free(&env.auth_queue);
}

static bool covers(const struct tls_cert *c, struct slice host)
{
	static char text[100];

	ck_assert_ptr_eq(c, conn.certificate);
	snprintf(text, sizeof(text), "%.*s", SLICE_ARG(host));
	host_asked = text;
	return covered;
}

static void auth_cache_come(void)
{
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
}

static void with_credentials(const char *value)
{
	req_field_add(&req, SLICE("authorization"), slice_str(value));
}

TEST(nothing_is_asked)
{
	req_start(&req);
	ck_assert_int_eq(starts, 1);
	ck_assert_int_eq(req.reply.status, 200);
}

static const char *const bad_hosts[] = { ":80", "a@b", "u:p@b", "a b", "a/b", "a:80x", "[::1",
	"[::1]x", "%zz", "a\\b", "\xc3\xa4", ".", "[]", "a?b", "a#b" };

TEST_ROWS(malformed_authority, bad_hosts)
{
	conn.admin = _i % 2;
	req.authority = slice_str(bad_hosts[_i]);
	req_answers(400);
	ck_assert_int_eq(starts, 0);
}

TEST(no_authority)
{
	req.authority = (struct slice){ 0 };
	req_answers(200);
}

/* Everything at once: none of it is for admin listeners. */
TEST(admin_has_no_rules)
{
	static const struct h2d_handler on_admin = {
		.name = "x", .scope = H2D_ON_ADMIN, .start = fallback_start
	};

	env.conf.fallback = &on_admin;
	site_v[0].all = locations[0] = (struct location){ .prefix = SLICE("/"),
		.redirect.to = SLICE("/x"),
		.redirect.status = 301,
		.access = &nobody,
		.auth = &auth };
	conn.admin = true;
	conn.redirect_at = &at;
	req_answers(200);
}

/* --- redirect-to-https ------------------------------------------------------------------------ */

TEST_EACH(to_https, 2)
{
	conn.redirect_at = &at;
	locations[0].access = &nobody;
	env.conf.https_port = _i == 0 ? 443 : 8443;
	req.authority = SLICE("example.com:80");
	req.target = SLICE("/p/%41//b?q=1");
	req_answers(308);
	ck_assert_field("location", _i == 0 ? "https://example.com/p/%41//b?q=1"
					    : "https://example.com:8443/p/%41//b?q=1");
	ck_assert_int_eq(starts, 0);
}

TEST(to_https_without_a_host)
{
	conn.redirect_at = &at;
	req.authority = (struct slice){ 0 };
	req_answers(400);
	ck_assert_uint_eq(reply_count("location"), 0);
}

TEST(to_https_without_a_listener)
{
	conn.redirect_at = &at;
	env.conf.https_port = 0;
	req_answers(404);
}

static const struct {
	const char *target;
	bool denied;
	int status;
} acme[] = {
	{ "/.well-known/acme-challenge/token", false, 200 },
	{ "/.well-known/acme-challenge/token", true, 403 },
	{ "/%2ewell-known/x/../acme-challenge/token", false, 200 },
	{ "/.well-known/acme-challenge", false, 308 },
	{ "/.well-known/acme-challenge/../x", false, 308 },
	{ "/.well-known/acme-challengex/", false, 308 },
};

TEST_ROWS(acme_challenge, acme)
{
	conn.redirect_at = &at;
	site_v[0].all.access = acme[_i].denied ? &nobody : NULL;
	req.target = slice_str(acme[_i].target);
	req_answers(acme[_i].status);
}

/* A redirect of the whole site leaves the challenge where it is, if there is a root to find it in.
 */
static const struct {
	const char *prefix;
	bool has_root, plain;
	int status;
} acme_elsewhere[] = {
	{ "/", true, false, 200 },
	{ "/", false, false, 301 },
	{ "/", true, true, 301 },
	{ "/.well-known/", true, false, 301 },
};

TEST_ROWS(acme_of_a_redirected_site, acme_elsewhere)
{
	conn.redirect_at = acme_elsewhere[_i].plain ? NULL : &at;
	site_v[0].has_root = acme_elsewhere[_i].has_root;
	site_v[0].all.redirect.to = SLICE("https://example.org/");
	site_v[0].all.redirect.keeps = true;
	site_v[0].all.redirect.status = 301;
	site_v[0].all.redirect.prefix = slice_str(acme_elsewhere[_i].prefix);
	req.target = SLICE("/.well-known/acme-challenge/token");
	req_answers(acme_elsewhere[_i].status);
}

/* --- 421 -------------------------------------------------------------------------------------- */

static const struct {
	const char *authority;
	bool tls, same, asks, covered;
	int status;
} misdirections[] = {
	{ "other.example:443", true, false, true, false, 421 },
	{ "OTHER.example.", true, false, true, false, 421 },
	{ "other.example", true, false, true, true, 200 },
	{ "other.example", true, true, true, false, 200 },
	{ "other.example", true, false, false, false, 200 },
	{ "other.example", false, false, true, false, 200 },
	{ "example.com", true, false, true, false, 200 }, /* the default block answers every name */
	{ "", true, false, true, false, 200 },
};

TEST_ROWS(misdirected, misdirections)
{
	host_asked = NULL;
	covered = misdirections[_i].covered;
	conn.tls = misdirections[_i].tls ? HTTP_TLS_OURS : HTTP_TLS_NONE;
	conn.certificate = misdirections[_i].same ? &own_certificate : &other_certificate;
	conn.covers = misdirections[_i].asks ? covers : NULL;
	site_v[1].all.access = misdirections[_i].status == 421 ? &nobody : NULL;
	req.authority = slice_str(misdirections[_i].authority);
	req_answers(misdirections[_i].status);
	if (_i == 0)
		ck_assert_str_eq(host_asked, "other.example");
}

/* Who has asked, and what the client has shown; site 0 is the default, 1 the other. */
static const struct {
	const char *authority;
	int of_conn, of_site; /* authorities; 0: none */
	const char *subject, *refused;
	bool required, cleartext;
	int status;
} verifications[] = {
	{ "other.example", 1, 1, "CN=a", NULL, true, false, 200 },
	{ "other.example", 1, 1, NULL, NULL, true, false, 400 },
	{ "other.example", 1, 1, NULL, NULL, false, false, 200 },
	{ "other.example", 1, 1, NULL, "expired", false, false, 400 },
	{ "other.example", 1, 1, NULL, "expired", true, false, 400 },
	{ "other.example", 1, 2, "CN=a", NULL, true, false, 421 },
	{ "other.example", 0, 1, NULL, NULL, true, false, 421 },
	{ "other.example", 1, 0, "CN=a", NULL, false, false, 421 },
	{ "example.com", 1, 1, NULL, NULL, false, false, 421 }, /* the default asks nobody */
	{ "example.com", 0, 1, NULL, NULL, true, false, 200 },
	{ "other.example", 0, 1, NULL, NULL, true, true, 200 },
};

TEST_ROWS(verified, verifications)
{
	static const struct tls_client_ca authorities[3];
	int of_conn = verifications[_i].of_conn, of_site = verifications[_i].of_site;

	conn.tls = verifications[_i].cleartext ? HTTP_TLS_NONE : HTTP_TLS_OURS;
	conn.certificate = &own_certificate;
	conn.client_ca = of_conn > 0 ? &authorities[of_conn] : NULL;
	conn.client_subject = verifications[_i].subject;
	conn.client_refused = verifications[_i].refused;
	site_v[1].client_ca = of_site > 0 ? &authorities[of_site] : NULL;
	site_v[1].needs_certificate = verifications[_i].required;
	req.authority = slice_str(verifications[_i].authority);
	req_answers(verifications[_i].status);
	ck_assert_int_eq(starts, verifications[_i].status == 200);
}

/* --- places ----------------------------------------------------------------------------------- */

TEST_EACH(redirects, 4)
{
	static const int statuses[] = { 301, 302, 307, 308 };

	locations[0].redirect.to = SLICE("https://example.org/new/");
	locations[0].redirect.keeps = true;
	locations[0].redirect.status = statuses[_i];
	locations[0].redirect.prefix = locations[0].prefix;
	locations[0].access = &nobody; /* says where to, not what is there */
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload?x");
	req_answers(statuses[_i]);
	ck_assert_field("location", "https://example.org/new/upload?x");
	ck_assert_int_eq(starts, 0);
}

/* Files and compiled routes alike, wrong methods too. */
TEST_EACH(denied, 9)
{
	static const struct {
		const char *method, *target, *peer;
		int status;
	} cases[] = {
		{ "GET", "/p/a", "192.0.2.1", 403 },
		{ "POST", "/p/upload", "192.0.2.1", 403 },
		{ "DELETE", "/p/upload", "192.0.2.1", 403 },
		{ "GET", "/p", "192.0.2.1", 403 },
		{ "GET", "/a/../p/", "192.0.2.1", 403 },
		{ "GET", "/%70/a", "192.0.2.1", 403 },
		{ "GET", "/px", "192.0.2.1", 200 },
		{ "GET", "/p/a", "192.0.2.2", 200 },
		{ "GET", "/p/a", "2001:db8::1", 200 },
	};

	locations[0].access = &nobody;
	ck_assert(addr_parse_host(strchr(cases[_i].peer, ':') != NULL ? AF_INET6 : AF_INET,
		slice_str(cases[_i].peer), &conn.peer));
	req.method_text = slice_str(cases[_i].method);
	req.target = slice_str(cases[_i].target);
	req_answers(cases[_i].status);
	ck_assert_int_eq(starts, cases[_i].status == 200);
}

/* What holds for a file holds for those that are it in a coding. */
TEST_EACH(denied_beside, 10)
{
	static const struct {
		const char *target;
		int status;
	} cases[] = {
		{ "/p.gz", 403 },
		{ "/p.br", 403 },
		{ "/p.zst", 403 },
		{ "/p.gz.br", 403 },
		{ "/p.%67z", 403 },
		{ "/p.gzip", 200 },
		{ "/pgz", 200 },
		{ "/p.gz/x", 200 },
		{ "/p/.gz", 403 },
		{ "/gz", 200 },
	};

	locations[0].access = &nobody;
	req.target = slice_str(cases[_i].target);
	req_answers(cases[_i].status);
}

/* What a path that leaves its extension out may be answered with has a say. */
TEST_EACH(denied_by_extension, 5)
{
	static const struct slice extensions[] = { SLICE_LIT(".htm"), SLICE_LIT(".html") };
	static const struct {
		const char *target;
		int status;
	} cases[] = {
		{ "/q", 403 },
		{ "/q.html", 403 },
		{ "/q.htm", 200 },
		{ "/q/", 200 },
		{ "/qq", 200 },
	};

	locations[0].prefix = SLICE("/q.html");
	locations[0].access = &nobody;
	site_v[0].all.extensions = extensions;
	site_v[0].all.nextensions = 2;
	req.target = slice_str(cases[_i].target);
	req_answers(cases[_i].status);
}

static int file_decided;
static enum gate_result file_result;

static void file_done(struct h2d_req *r, enum gate_result result, void *ctx)
{
	ck_assert_ptr_eq(r, &req);
	ck_assert_ptr_eq(ctx, &file_decided);
	file_decided++;
	file_result = result;
}

static const struct {
	const char *file, *credentials;
	bool denied;
	enum gate_result at_once, later;
	int status;
} files[] = {
	{ "/x", NULL, false, GATE_GO, GATE_GO, 0 },
	{ "/p/x", NULL, true, GATE_ANSWERED, GATE_GO, 403 },
	{ "/p.gz", NULL, true, GATE_ANSWERED, GATE_GO, 403 },
	{ "/p/x", NULL, false, GATE_ANSWERED, GATE_GO, 401 },
	{ "/p/x", WRONG, false, GATE_LATER, GATE_ANSWERED, 401 },
	{ "/p/x", RIGHT, false, GATE_LATER, GATE_GO, 0 },
};

/* A handler's own name for a file: "/later" leads to it. */
TEST_EACH(of_a_file, 6)
{
	file_decided = 0;
	locations[0].auth = &auth;
	locations[0].access = files[_i].denied ? &nobody : NULL;
	req.target = SLICE("/later");
	if (files[_i].credentials != NULL)
		with_credentials(files[_i].credentials);
	req_start(&req);
	ck_assert_int_eq(starts, 1);
	ck_assert_int_eq(gate_pass_file(&req, slice_str(files[_i].file), file_done, &file_decided),
		files[_i].at_once);
	auth_cache_come();
	ck_assert_int_eq(file_decided, files[_i].at_once == GATE_LATER);
	if (file_decided > 0)
		ck_assert_int_eq(file_result, files[_i].later);
	ck_assert_int_eq(req.reply.ready ? req.reply.status : 0, files[_i].status);
}

/* Both must pass, and nobody is asked for a password who may not come in anyway. */
TEST(denied_before_asked)
{
	locations[0].access = &nobody;
	locations[0].auth = &auth;
	with_credentials(RIGHT);
	req_answers(403);
	ck_assert_uint_eq(reply_count("www-authenticate"), 0);
}

/* --- passwords -------------------------------------------------------------------------------- */

TEST_EACH(no_credentials, 6)
{
	static const char *const values[] = { NULL, "", "Basic", "Bearer abc", "Basic !!!!",
		"Basic YWJj" };

	locations[0].auth = &auth;
	if (values[_i] != NULL)
		with_credentials(values[_i]);
	req_answers(401);
	ck_assert_field("www-authenticate", "Basic realm=\"the \\\"vault\\\"\", charset=\"UTF-8\"");
	ck_assert_uint_eq(offload_pending(offload), 0);
	ck_assert_int_eq(starts, 0);
}

TEST(two_credentials)
{
	locations[0].auth = &auth;
	with_credentials(RIGHT);
	with_credentials(RIGHT);
	req_answers(401);
}

TEST(a_realm_of_odd_bytes)
{
	auth.realm = SLICE("a\r\nb\x7f\\");
	locations[0].auth = &auth;
	req_start(&req);
	ck_assert_field("www-authenticate", "Basic realm=\"a  b \\\\\", charset=\"UTF-8\"");
}

static const struct {
	const char *credentials;
	int status;
} passwords[] = { { RIGHT, 200 }, { WRONG, 401 }, { UNKNOWN, 401 } };

TEST_ROWS(a_password, passwords)
{
	locations[0].auth = &auth;
	with_credentials(passwords[_i].credentials);
	req_start(&req);
	ck_assert_int_eq(req.state, REQ_WAIT);
	ck_assert_int_eq(replies, 0);
	auth_cache_come();
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.reply.status, passwords[_i].status);
	ck_assert_int_eq(starts, passwords[_i].status == 200);
	ck_assert_uint_eq(reply_count("www-authenticate"), passwords[_i].status == 401);
	ck_assert(slice_eq(req.user, slice_str(passwords[_i].status == 200 ? "anna" : "")));
	/* The second time it is known. */
	req_fini(&req);
	req_init(&req, &env, &conn, &ops);
	req.method_text = SLICE("GET");
	req.target = SLICE("/p/a");
	with_credentials(passwords[_i].credentials);
	req_answers(passwords[_i].status);
	ck_assert(slice_eq(req.user, slice_str(passwords[_i].status == 200 ? "anna" : "")));
}

TEST(a_file_that_is_not_there)
{
	unlink(file);
	locations[0].auth = &auth;
	with_credentials(RIGHT);
	req_start(&req);
	auth_cache_come();
	ck_assert_int_eq(req.reply.status, 503);
	ck_assert_int_eq(starts, 0);
}

static void upload_with(const char *credentials)
{
	locations[0].auth = &auth;
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload");
	req.has_body = true;
	with_credentials(credentials);
	req_start(&req);
	req_body(&req, "one ", 4);
	req_body(&req, "two ", 4);
	ck_assert_uint_eq(consumed, 0);
}

TEST_EACH(a_body_in_order, 2)
{
	upload_with(RIGHT);
	if (_i == 0)
		req_body_end(&req);
	auth_cache_come();
	ck_assert_int_eq(starts, 1);
	ck_assert_uint_eq(consumed, 8);
	ck_assert_int_eq(wanted, 1);
	if (_i == 1) {
		ck_assert_int_eq(replies, 0);
		req_body(&req, "three", 5);
		req_body_end(&req);
	}
	ck_assert(slice_eq(
		slice_of(uploaded, uploaded_n), slice_str(_i == 0 ? "one two " : "one two three")));
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.reply.status, 201);
}

TEST_EACH(a_body_nobody_takes, 2)
{
	upload_with(WRONG);
	if (_i == 0)
		req_body_end(&req);
	auth_cache_come();
	ck_assert_int_eq(req.reply.status, 401);
	ck_assert_int_eq(wanted, 0);
	ck_assert_uint_eq(consumed, 8);
	ck_assert_uint_eq(uploaded_n, 0);
	req_body(&req, "three", 5);
	ck_assert_uint_eq(consumed, 13);
	ck_assert_int_eq(replies, 1);
}

/* The handler answers in the middle of what was held. */
TEST(a_body_cut_short)
{
	/* The first pieces that it is held in are of 256 bytes. */
	static const char rest[256];

	upload_with(RIGHT);
	req_body(&req, rest, 248);
	req_body(&req, "early", 5);
	req_body(&req, rest, 251);
	req_body(&req, "more", 4);
	req_body_end(&req);
	auth_cache_come();
	ck_assert_int_eq(req.reply.status, 409);
	ck_assert_uint_eq(uploaded_n, 512);
	ck_assert_uint_eq(consumed, 516);
	ck_assert_int_eq(replies, 1);
}

/* Timed out, say. */
TEST(answered_while_it_waits)
{
	upload_with(RIGHT);
	reply_error(&req, 408);
	req_body(&req, "three", 5);
	req_body_end(&req);
	auth_cache_come();
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.reply.status, 408);
	ck_assert_int_eq(starts, 0);
	ck_assert_uint_eq(consumed, 13);
}

static struct h2d_req *page_for;

static void page_later(struct h2d_req *r, int status, struct slice page)
{
	page_for = r;
}

/* Its error page comes from the disk and takes longer than the verdict, which decides nothing any
 * more. */
TEST_EACH(refused_while_it_waits, 2)
{
	static const struct site_error_page pages[] = { { .status = 400,
		.file = SLICE_LIT("/400.html") } };

	site_v[0].all.error_pages = pages;
	site_v[0].all.nerror_pages = 1;
	env.conf.error_page = page_later;
	upload_with(_i == 0 ? RIGHT : WRONG);
	req_refuse(&req, 400);
	req_body(&req, "three", 5);
	auth_cache_come();
	ck_assert_int_eq(starts, 0);
	ck_assert_int_eq(replies, 0);
	ck_assert_uint_eq(consumed, 13);
	ck_assert_ptr_eq(page_for, &req);
	reply_own_page(&req, 400);
	ck_assert_int_eq(req.reply.status, 400);
}

TEST_EACH(gone_while_it_waits, 2)
{
	upload_with(_i == 0 ? RIGHT : WRONG);
	req_fini(&req);
	ck_assert_uint_eq(consumed, 8);
	ck_assert_uint_eq(req.user.n, 0);
	memset(&req, 0xa5, sizeof(req));
	auth_cache_come();
	ck_assert_int_eq(replies, 0);
	ck_assert_int_eq(starts, 0);
	req.state = REQ_GONE;
}
