/*
 * check_reply: what the configuration adds to responses, of whatever status and whoever made them,
 * and error pages: whose they are, and what becomes of an error when they fail.
 */
#include "req_unit.h"

static const struct field headers[] = {
	{ SLICE_LIT("x-outer"), SLICE_LIT("1") },
	{ SLICE_LIT("link"), SLICE_LIT("</a>; rel=preload") },
	{ SLICE_LIT("link"), SLICE_LIT("</b>; rel=preload") },
	{ SLICE_LIT("content-security-policy"), SLICE_LIT("default-src 'self'") },
	{ SLICE_LIT("vary"), SLICE_LIT("cookie") },
};
enum { HEADERS = sizeof(headers) / sizeof(headers[0]) };

static int pages, page_status;
static enum { PAGE_FILE, PAGE_MISSING, PAGE_BROKEN, PAGE_LATER } page_does;

/* As cache/answer does it: fields of the file first, then the way back. */
static void error_page(struct h2d_req *r, int status, struct slice file)
{
	pages++;
	page_status = status;
	ck_assert(slice_eq(file, SLICE("/404.html")));
	if (page_does == PAGE_LATER)
		return;
	reply_add(r, SLICE("content-type"), SLICE("text/html"));
	reply_add(r, SLICE("vary"), SLICE("accept-encoding"));
	if (page_does == PAGE_MISSING) {
		reply_own_page(r, 404);
		return;
	}
	if (page_does == PAGE_BROKEN) {
		reply_error(r, 503);
		return;
	}
	body_memory(&r->reply.body, "page", 4, NULL);
	reply_send(r, status);
}

static const struct site_error_page error_pages[] = {
	{ 404, SLICE_LIT("/404.html"), { .line = 0 } },
	{ 405, SLICE_LIT("/404.html"), { .line = 0 } },
};

UNIT_SETUP(setup)
{
	locations[0].headers = headers;
	locations[0].nheaders = HEADERS;
	locations[0].cache_control = SLICE("max-age=60");
	env.conf.error_page = error_page;
	pages = 0;
	page_does = PAGE_FILE;
}

TEST(on_every_status)
{
	static const int statuses[] = { 200, 201, 203, 204, 206, 301, 302, 303, 304, 307, 308, 400,
		401, 403, 404, 405, 410, 412, 416, 421, 500, 503, 599 };
	static const int kept[] = { 200, 203, 204, 206, 301, 302, 304, 307, 308 };

	locations[0].prefix = SLICE("/later");
	req.target = SLICE("/later");
	req_start(&req);
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		bool cacheable = false;

		for (size_t j = 0; j < sizeof(kept) / sizeof(kept[0]); j++)
			cacheable |= statuses[i] == kept[j];
		h2d_reply_bytes(&req, statuses[i], "text/plain", "x", 1);
		ck_assert_field("x-outer", "1");
		ck_assert_field("vary", "cookie");
		ck_assert_uint_eq(reply_count("link"), 2);
		ck_assert_field("cache-control", cacheable ? "max-age=60" : "");
		req_fini(&req);
		req_init(&req, &env, &conn, &ops);
		req.method_text = SLICE("GET");
		req.target = SLICE("/later");
		req_start(&req);
	}
}

TEST_EACH(on_errors_of_the_core, 2)
{
	static const struct {
		const char *method, *target;
		int status;
	} cases[] = {
		{ "POST", "/p/upload/x", 200 },
		{ "GET", "/p/upload", 405 },
	};

	req.method_text = slice_str(cases[_i].method);
	req.target = slice_str(cases[_i].target);
	req_answers(cases[_i].status);
	ck_assert_field("x-outer", "1");
}

/* Of the response's own: those of the configuration come later, and those for safety stay. */
TEST(removed_by_the_configuration)
{
	static const struct site_removed removed[] = { { .name = SLICE_LIT("x-powered-by") },
		{ .name = SLICE_LIT("x-outer") }, { .name = SLICE_LIT("cache-control") },
		{ .name = SLICE_LIT("x-content-type-options"), .outer_only = true } };

	locations[0].prefix = SLICE("/later");
	locations[0].removed = removed;
	locations[0].nremoved = 4;
	req.target = SLICE("/later");
	req_start(&req);
	ck_assert_int_eq(h2d_reply_header(&req, "x-powered-by", "c"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "x-outer", "0"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "x-powered-by", "d"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "cache-control", "no-store"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "x-content-type-options", "nosniff"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "x-kept", "1"), 0);
	h2d_reply_bytes(&req, 200, "text/plain", "x", 1);
	ck_assert_uint_eq(reply_count("x-powered-by"), 0);
	ck_assert_uint_eq(reply_count("x-outer"), 1);
	ck_assert_field("x-outer", "1");
	ck_assert_uint_eq(reply_count("cache-control"), 1);
	ck_assert_field("cache-control", "max-age=60");
	ck_assert_field("x-content-type-options", "nosniff");
	ck_assert_field("x-kept", "1");
	ck_assert_field("content-length", "1");
}

/* What comes before the place is known has the fields of the server block. */
TEST(on_errors_without_a_place)
{
	site_v[0].all.headers = headers;
	site_v[0].all.nheaders = 1;
	req.target = SLICE("/p/%0");
	req_answers(400);
	ck_assert_field("x-outer", "1");
	ck_assert_uint_eq(reply_count("link"), 0);
}

/* A protocol may refuse a head before it knows whose it is. */
TEST(on_errors_without_a_site)
{
	req_go(&req, REQ_WAIT);
	reply_error(&req, 400);
	ck_assert_int_eq(req.reply.status, 400);
	ck_assert_uint_eq(reply_count("x-outer"), 0);
}

/* What becomes of fields that a handler said, of whatever answer, and of an answer instead. */
TEST_EACH(said_by_the_handler, 4)
{
	locations[0].prefix = SLICE("/later");
	req.target = SLICE("/later");
	req_start(&req);
	ck_assert_int_eq(h2d_reply_header(&req, "date", "then"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "server", "mine"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "content-type", "application/x"), 0);
	ck_assert_int_eq(h2d_reply_header(&req, "transfer-encoding", "chunked"), -1);
	if (_i == 0) {
		h2d_reply_bytes(&req, 200, NULL, "x", 1);
		ck_assert_field("content-type", "application/x");
	} else if (_i == 1) {
		h2d_reply_bytes(&req, 200, "application/y", "x", 1);
		ck_assert_field("content-type", "application/y");
	} else if (_i == 2) {
		env.conf.error_page = NULL;
		h2d_reply_error(&req, 404);
		ck_assert_field("content-type", "text/html; charset=utf-8");
	} else {
		h2d_reply_bytes(&req, 200, "text/plain\n", "x", 1);
		ck_assert_int_eq(req.reply.status, 500);
		ck_assert_field("content-type", "");
	}
	ck_assert_field("date", _i < 3 ? "then" : "Sun, 06 Nov 1994 08:49:37 GMT");
	ck_assert_field("server", _i < 3 ? "mine" : "h2d");
	ck_assert_uint_eq(reply_count("transfer-encoding"), 0);
}

TEST(what_is_there_stays)
{
	locations[0].prefix = SLICE("/later");
	req.target = SLICE("/later");
	req_start(&req);
	h2d_reply_header(&req, "content-security-policy", "sandbox");
	h2d_reply_header(&req, "cache-control", "no-store");
	h2d_reply_header(&req, "vary", "accept-encoding");
	h2d_reply_header(&req, "link", "</c>");
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	ck_assert_field("content-security-policy", "sandbox");
	ck_assert_field("cache-control", "no-store");
	ck_assert_field("vary", "accept-encoding, cookie");
	ck_assert_uint_eq(reply_count("link"), 3);
}

/* RFC 9110, 12.5.5: a list of names; each is said once, whoever says it. */
static const struct {
	const char *there, *added, *both;
} varies[] = {
	{ NULL, "cookie", "cookie" },
	{ "accept-encoding", "cookie", "accept-encoding, cookie" },
	{ "accept-encoding", "accept-encoding", "accept-encoding" },
	{ "accept-encoding", "Accept-Encoding, cookie", "accept-encoding, cookie" },
	{ "cookie, accept", "accept, x, accept", "cookie, accept, x" },
	{ "accept-encoding", "accept", "accept-encoding, accept" },
	{ "*", "accept", "*, accept" },
};

TEST_ROWS(vary_is_joined, varies)
{
	struct field header = { SLICE("vary"), slice_str(varies[_i].added) };

	req.target = SLICE("/later");
	site_v[0].all.headers = &header;
	site_v[0].all.nheaders = 1;
	req_start(&req);
	if (varies[_i].there != NULL)
		ck_assert_int_eq(reply_vary(&req, slice_str(varies[_i].there)), 0);
	h2d_reply_bytes(&req, 200, NULL, "", 0);
	ck_assert_field("vary", varies[_i].both);
}

/* Not even where the configuration's reader let it pass. */
TEST(the_core_s_own_stay)
{
	static const struct field own[] = {
		{ SLICE_LIT("date"), SLICE_LIT("x") },
		{ SLICE_LIT("server"), SLICE_LIT("x") },
		{ SLICE_LIT("content-length"), SLICE_LIT("7") },
		{ SLICE_LIT("cache-control"), SLICE_LIT("private") },
	};

	locations[0].headers = own;
	locations[0].nheaders = 4;
	req_start(&req);
	ck_assert_field("date", "Sun, 06 Nov 1994 08:49:37 GMT");
	ck_assert_field("server", "h2d");
	ck_assert_field("content-length", "2");
	ck_assert_field("cache-control", "max-age=60");
}

/* For errors, where cache-control has no say, add-header has. */
TEST(added_cache_control_on_errors)
{
	static const struct field own[] = { { SLICE_LIT("cache-control"), SLICE_LIT("no-store") } };

	locations[0].headers = own;
	locations[0].nheaders = 1;
	req.method_text = SLICE("DELETE");
	req.target = SLICE("/p/upload");
	req_answers(405);
	ck_assert_field("cache-control", "no-store");
}

TEST(none_is_dropped)
{
	static struct field many[SITE_HEADERS_MAX];

	for (unsigned i = 0; i < SITE_HEADERS_MAX; i++)
		many[i] = (struct field){ SLICE("link"), SLICE("</>") };
	locations[0] = (struct location){ .prefix = SLICE("/later"),
		.headers = many,
		.nheaders = SITE_HEADERS_MAX,
		.cache_control = SLICE("max-age=60") };
	req.target = SLICE("/later");
	req_start(&req);
	for (int i = 0; i < 10 * REPLY_FIELDS_FIRST; i++)
		h2d_reply_header(&req, "a", "v");
	h2d_reply_bytes(&req, 200, NULL, "x", 1);
	ck_assert_int_eq(req.reply.status, 200);
	ck_assert_uint_eq(reply_count("link"), SITE_HEADERS_MAX);
	ck_assert_uint_eq(reply_count("a"), 10 * REPLY_FIELDS_FIRST);
	ck_assert_field("content-length", "1");
	ck_assert_field("cache-control", "max-age=60");
}

TEST_EACH(none_on_admin, 2)
{
	static const struct h2d_handler on_admin = {
		.name = "x", .scope = H2D_ON_ANY, .start = fallback_start
	};

	site_v[0].all.headers = headers;
	site_v[0].all.nheaders = HEADERS;
	site_v[0].all.error_pages = error_pages;
	site_v[0].all.nerror_pages = 2;
	conn.admin = true;
	env.conf.fallback = _i == 0 ? &on_admin : &fallback;
	req_answers(_i == 0 ? 200 : 404);
	ck_assert_uint_eq(reply_count("x-outer"), 0);
	ck_assert_uint_eq(reply_count("cache-control"), 0);
	ck_assert_int_eq(pages, 0);
}

/* --- error pages ------------------------------------------------------------------------------ */

static void with_pages(const char *method, const char *target)
{
	site_v[0].all.error_pages = error_pages;
	site_v[0].all.nerror_pages = 2;
	req.method_text = slice_str(method);
	req.target = slice_str(target);
	req_start(&req);
}

TEST(a_page)
{
	with_pages("DELETE", "/p/upload");
	ck_assert_int_eq(pages, 1);
	ck_assert_int_eq(page_status, 405);
	ck_assert_int_eq(req.reply.status, 405);
	ck_assert_field("allow", "POST, OPTIONS");
	ck_assert_field("content-type", "text/html");
	ck_assert_field("content-length", "4");
	ck_assert_field("x-outer", "1");
	ck_assert(req.reply.content);
}

TEST(a_page_for_head)
{
	with_pages("HEAD", "/p/upload");
	ck_assert_int_eq(req.reply.status, 405);
	ck_assert_field("content-length", "4");
	ck_assert(!req.reply.content);
}

/* It is the first error that is answered, with its fields and none of the page's. */
TEST_EACH(a_page_that_fails, 2)
{
	page_does = _i == 0 ? PAGE_MISSING : PAGE_BROKEN;
	with_pages("DELETE", "/p/upload");
	ck_assert_int_eq(pages, 1);
	ck_assert_int_eq(req.reply.status, 405);
	ck_assert_field("allow", "POST, OPTIONS");
	ck_assert_field("content-type", "text/html; charset=utf-8");
	ck_assert_field("vary", "cookie");
}

TEST(no_page_for_this_status)
{
	with_pages("BREW", "/");
	ck_assert_int_eq(pages, 0);
	ck_assert_int_eq(req.reply.status, 501);
}

/* Until the page is there, the handler hears no more, and a timeout answers with the error. */
TEST(a_page_later)
{
	static const struct site_error_page conflict[] = { { 409, SLICE_LIT("/404.html"),
		{ .line = 0 } } };

	page_does = PAGE_LATER;
	site_v[0].all.error_pages = conflict;
	site_v[0].all.nerror_pages = 1;
	req.method_text = SLICE("POST");
	req.target = SLICE("/p/upload");
	req.has_body = true;
	req_start(&req);
	req_body(&req, "early", 5);
	ck_assert_int_eq(pages, 1);
	ck_assert_int_eq(replies, 0);
	req_body(&req, "more", 4);
	req_body_end(&req);
	ck_assert_uint_eq(uploaded_n, 5);
	ck_assert_uint_eq(consumed, 9);
	ck_assert_int_eq(replies, 0);
	reply_error(&req, 408);
	ck_assert_int_eq(replies, 1);
	ck_assert_int_eq(req.reply.status, 409);
}

/* A file's fields are none of the error's that is answered instead. */
TEST_EACH(leavings_of_a_file, 2)
{
	req.target = SLICE("/later");
	if (_i == 1) {
		site_v[0].all.error_pages = error_pages;
		site_v[0].all.nerror_pages = 2;
	}
	req_start(&req);
	h2d_reply_header(&req, "content-type", "image/png");
	h2d_reply_header(&req, "etag", "\"a\"");
	h2d_reply_header(&req, "last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
	h2d_reply_header(&req, "content-encoding", "br");
	h2d_reply_header(&req, "content-range", "bytes */5");
	h2d_reply_error(&req, 404);
	ck_assert_field("content-type", _i == 0 ? "text/html; charset=utf-8" : "text/html");
	ck_assert_uint_eq(reply_count("etag"), 0);
	ck_assert_uint_eq(reply_count("last-modified"), 0);
	ck_assert_uint_eq(reply_count("content-encoding"), 0);
	ck_assert_field("content-range", "bytes */5");
	ck_assert_int_eq(pages, _i);
}

UNIT_FIXTURE(NULL, req_teardown)
