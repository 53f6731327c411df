/*
 * check_h1: the h1 protocol with handlers and without a socket or clock: requests in pieces, output
 * in pieces, what is said about the connection, bodies nobody takes, the ends.
 */
#include <crypt.h>

#include "auth/auth_queue.h"
#include "base/clock.h"
#include "proto/h1.h"
#include "proto_unit.h"
#include "states_unit.h"
#include "unit.h"

static int logged;
static char log_line[256]; /* of the last request that is over */
static char got[1 << 20];  /* all output */
static size_t ngot;
static char connection[32]; /* the request's field, as its handler saw it */

/* --- handlers --------------------------------------------------------------------------------- */

static void plain_start(struct h2d_req *req, void *state)
{
	struct slice value = { 0 };

	ck_assert_ptr_null(h2d_req_header(req, "host", NULL));
	value.p = h2d_req_header(req, "connection", &value.n);
	snprintf(connection, sizeof(connection), "%.*s", SLICE_ARG(value));
	if (slice_eq(req->path, SLICE("/299")))
		h2d_reply_bytes(req, 299, NULL, "", 0);
	else
		echo_start(req, state);
}
static const struct h2d_handler fallback = { .name = "echo", .start = plain_start };

static const struct route_row rows[] = {
	{ "rows", 1, "GET", "/hello", "hello", "BODY_NONE" },
	{ "rows", 2, "GET", "/stream", "stream", "BODY_NONE" },
	{ "rows", 3, "POST", "/upload", "upload", "BODY_STREAM" },
	{ "rows", 4, "GET", "/later", "later", "BODY_NONE" },
};
static const struct h2d_handler *const handlers[] = { &hello, &stream, &upload, &later };

static void finished(struct http_env *e, struct h2d_req *req)
{
	logged++;
	snprintf(log_line, sizeof(log_line), "%.*s %.*s %.*s %d %s", SLICE_ARG(req->method_text),
		SLICE_ARG(req->target), SLICE_ARG(req->protocol), req->reply.status,
		req->complete ? "complete" : "cut");
}

/* --- plumbing --------------------------------------------------------------------------------- */

UNIT_SETUP(setup)
{
	proto_unit_init(rows, 4, handlers, &fallback);
	env.finished = finished;
	proto_unit_open(h1_open);
	clock_set(1000 * 1000, (struct timespec){ 0 });
}

static void take(void *ctx, const void *data, size_t n)
{
	ck_assert_uint_lt(ngot + n, sizeof(got));
	memcpy(got + ngot, data, n);
	ngot += n;
}

static void pull(size_t limit)
{
	proto_unit_pull(server, &out, limit, take, NULL);
	got[ngot] = '\0';
}

/* Bytes to the server, step at a time, as a connection does it; how many it did not take. */
static size_t give(const char *p, size_t n, size_t step, size_t limit)
{
	while (n > 0) {
		size_t k = n < step ? n : step, taken = k;
		char *piece = malloc(k);

		memcpy(piece, p, k);
		ck_assert_ptr_null(server->ops->input(server, piece, &taken, 1000));
		free(piece);
		p += taken;
		n -= taken;
		pull(limit);
		if (taken == 0) {
			taken = k;
			ck_assert_ptr_null(server->ops->input(server, p, &taken, 1000));
			p += taken;
			n -= taken;
			if (taken == 0)
				return n;
		}
	}
	pull(limit);
	return 0;
}

static void say(const char *text)
{
	ck_assert_uint_eq(give(text, strlen(text), SIZE_MAX / 2, 1 << 18), 0);
}

/* How often s is in what was answered. */
static int count(const char *s)
{
	int n = 0;

	for (const char *p = got; (p = strstr(p, s)) != NULL; p++)
		n++;
	return n;
}

static void forget(void)
{
	ngot = 0;
	got[0] = '\0';
}

#define HELLO   "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
#define HEAD_OK "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ndate: date\r\nserver: h2d\r\n"

/* --- cases ------------------------------------------------------------------------------------ */

static const size_t steps[] = { SIZE_MAX / 2, 1, 7 };
static const size_t limits[] = { 1 << 18, 1, 100 };

TEST_EACH(keep_alive_and_pipelining, 3)
{
	static const char text[] =
		"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
		"HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n"
		"\r\n"
		"POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3\r\nabc\r\n4;x\r\ndefg\r\n0\r\nx: y\r\n\r\n"
		"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345"
		"GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
		"GET /never HTTP/1.1\r\nHost: a\r\n\r\n";

	ck_assert_uint_eq(give(text, sizeof(text) - 1, steps[_i], limits[_i]), 0);
	ck_assert_str_eq(got, HEAD_OK
		"content-length: 5\r\n\r\nhello" HEAD_OK "content-length: 5\r\n\r\n"
		"HTTP/1.1 201 Created\r\ndate: date\r\nserver: h2d\r\ncontent-length: 1\r\n\r\n7"
		"HTTP/1.1 201 Created\r\ndate: date\r\nserver: h2d\r\ncontent-length: "
		"1\r\n\r\n5" HEAD_OK "content-length: 5\r\nconnection: close\r\n\r\nhello");
	ck_assert(proto_over(server));
	ck_assert_uint_eq(server->requests, 5);
	ck_assert_uint_eq(server->body, 12);
	ck_assert_int_eq(gone, 5);
	ck_assert_str_eq(log_line, "GET /hello HTTP/1.1 200 complete");
}

TEST(http_1_0)
{
	say("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	ck_assert_str_eq(got, HEAD_OK "content-length: 5\r\nconnection: keep-alive\r\n\r\nhello");
	ck_assert(!proto_over(server));
	forget();
	say("GET /hello HTTP/1.0\r\n\r\n");
	ck_assert_str_eq(got, HEAD_OK "content-length: 5\r\nconnection: close\r\n\r\nhello");
	ck_assert(proto_over(server));
	ck_assert_str_eq(log_line, "GET /hello HTTP/1.0 200 complete");
}

/* One request pipelined behind one that waits is not taken; the connection keeps it. */
TEST(pipelining_is_bounded)
{
	static const char text[] = "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
				   "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
	const char *second = strstr(text, "GET /hello");
	size_t n = strlen(second);

	ck_assert_uint_eq(give(text, sizeof(text) - 1, SIZE_MAX / 2, 1 << 18), n);
	ck_assert_uint_eq(ngot, 0);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BUSY);
	ck_assert_uint_eq(give(second, n, 1, 1 << 18), n);
	wakes = 0;
	h2d_reply_bytes(held, 200, NULL, "late", 4);
	ck_assert_uint_eq(wakes, 1);
	ck_assert_int_eq(server->ops->waits(server), PROTO_SEND);
	pull(1 << 18);
	ck_assert_uint_eq(give(second, n, 1, 1 << 18), 0);
	ck_assert_ptr_nonnull(strstr(strstr(got, "late"), "hello"));
	ck_assert_int_eq(server->ops->waits(server), PROTO_IDLE);
}

/* They concern a request, not the connection. */
static const struct {
	const char *request, *status;
} statuses_rows[] = {
	{ "POST /hello HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n" },
	{ "BREW /hello HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 501 Not Implemented\r\n" },
	{ "GET /a/../../b HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n" },
	{ "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n" },
	{ "GET a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n" },
	{ "GET /hello HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, "
	  "HTTP2-Settings\r\n"
	  "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" },
	{ "OPTIONS /hello HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n"
							"allow: GET, HEAD, OPTIONS\r\n" },
	{ "OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n"
						    "allow: GET, HEAD, OPTIONS\r\n" },
	{ "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n"
						   "allow: GET, HEAD, POST, OPTIONS\r\n" },
	{ "GET /299 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 299 Successful\r\n" },
	{ "OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n"
							  "allow: GET, HEAD, POST, OPTIONS\r\n" },
};

TEST_ROWS(statuses, statuses_rows)
{
	say(statuses_rows[_i].request);
	ck_assert_msg(strncmp(got, statuses_rows[_i].status, strlen(statuses_rows[_i].status)) == 0,
		"%s", got);
	ck_assert_ptr_null(strstr(got, "connection: close"));
	ck_assert(!proto_over(server));
}

static const struct {
	const char *request, *echo, *connection;
} targets_rows[] = {
	{ "GET /x?y HTTP/1.1\r\nHost: A:80\r\nConnection: x\r\n\r\n", "A:80 /x y", "x" },
	{ "GET http://b:1/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "b:1 /x y", "" },
	{ "GET HTTPS://b?y HTTP/1.1\r\nHost: a\r\n\r\n", "b / y", "" },
	{ "GET http://b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "b / ", "" },
	{ "GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, x , Keep-Alive\r\n\r\n", "a /x ",
		"Upgrade, x , Keep-Alive" },
	{ "GET /x HTTP/1.0\r\nConnection: Close\r\n\r\n", " /x ", "" },
};

TEST_ROWS(targets, targets_rows)
{
	say(targets_rows[_i].request);
	ck_assert_str_eq(strstr(got, "\r\n\r\n") + 4, targets_rows[_i].echo);
	ck_assert_str_eq(connection, targets_rows[_i].connection);
}

/* Answered once, through the core, and then the connection ends. */
TEST_EACH(refusals, 9)
{
	static const struct {
		const char *request, *status, *log;
	} cases[] = {
		{ "GET /x\r\n", "400 Bad Request", "  HTTP/1.1 400 complete" },
		{ "GET /x HTTP/2.0\r\n", "505 HTTP Version Not Supported",
			"GET /x HTTP/1.1 505 complete" },
		{ "GET /x HTTP/1.1\r\n\r\n", "400 Bad Request", "GET /x HTTP/1.1 400 complete" },
		{ "GET ftp://a/x HTTP/1.1\r\nHost: a\r\n\r\n", "400 Bad Request",
			"GET ftp://a/x HTTP/1.1 400 complete" },
		{ "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n",
			"501 Not Implemented", "POST /upload HTTP/1.1 501 complete" },
		{ "POST /upload HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "417 Expectation Failed",
			"POST /upload HTTP/1.1 417 complete" },
		{ "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented",
			"CONNECT a:443 HTTP/1.1 501 complete" },
		{ "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
			"400 Bad Request", "POST /upload HTTP/1.1 400 complete" },
		{ "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
		  "chunked\r\n\r\n0\r\n:\r\n",
			"400 Bad Request", "POST /upload HTTP/1.1 400 complete" },
	};
	const char *text = cases[_i].request;

	ck_assert_uint_eq(give(text, strlen(text), 3, 1 << 18), 0);
	say(HELLO);
	ck_assert(strncmp(got + 9, cases[_i].status, strlen(cases[_i].status)) == 0);
	ck_assert_int_eq(count("HTTP/1.1 "), 1);
	ck_assert_int_eq(count("\r\nconnection: close\r\n"), 1);
	ck_assert_int_eq(count("\r\ncontent-length: "), 1);
	ck_assert(proto_over(server));
	ck_assert_str_eq(log_line, cases[_i].log);
	ck_assert_int_eq(logged, 1);
	ck_assert_int_eq(gone, strstr(text, "chunked") != NULL);
}

TEST_EACH(too_large, 3)
{
	char big[6000];

	memset(big, 'x', sizeof(big));
	switch (_i) {
	case 0:
		memcpy(big, "GET /", 5);
		break;
	case 1:
		memcpy(big, "GET / HTTP/1.1\r\nHost: a\r\nx: ", 28);
		break;
	default: /* many small fields: counted as in HTTP/2, with 32 bytes each */
		memcpy(big, "GET / HTTP/1.1\r\n", 16);
		for (size_t i = 16; i + 5 <= sizeof(big); i += 5)
			memcpy(big + i, "x:y\r\n", 5);
	}
	ck_assert_uint_eq(give(big, sizeof(big), 1000, 1 << 18), 0);
	ck_assert(strncmp(got, _i == 0 ? "HTTP/1.1 414 " : "HTTP/1.1 431 ", 13) == 0);
	ck_assert(proto_over(server));
}

#define CHUNK "11\r\n0123456789abcdefg\r\n"

TEST_EACH(content_of_unknown_length, 3)
{
	static const char ask[] = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n";
	const char *content;

	ck_assert_uint_eq(give(ask, strlen(ask), steps[_i], limits[_i]), 0);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BUSY);
	content = strstr(got, "\r\n\r\n") + 4;
	h2d_resume(held);
	pull(limits[_i]);
	ck_assert_ptr_nonnull(strstr(got, "\r\ntransfer-encoding: chunked\r\n"));
	ck_assert_ptr_null(strstr(got, "content-length"));
	if (limits[_i] > 100)
		ck_assert_str_eq(content, CHUNK CHUNK "0\r\n\r\n");
	ck_assert_str_eq(got + ngot - 5, "0\r\n\r\n");
	ck_assert(!proto_over(server));
	ck_assert_str_eq(log_line, "GET /stream HTTP/1.1 200 complete");
}

TEST(content_until_the_end)
{
	say("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	h2d_resume(held);
	pull(1 << 18);
	ck_assert_ptr_null(strstr(got, "transfer-encoding"));
	ck_assert_ptr_null(strstr(got, "content-length"));
	ck_assert_ptr_nonnull(strstr(got, "\r\nconnection: close\r\n\r\n"));
	ck_assert_str_eq(strstr(got, "\r\n\r\n") + 4, "0123456789abcdefg0123456789abcdefg");
	ck_assert(proto_over(server));
}

TEST(head_of_unknown_length)
{
	say("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	ck_assert_ptr_null(strstr(got, "transfer-encoding"));
	ck_assert_str_eq(strstr(got, "\r\n\r\n"), "\r\n\r\n");
	ck_assert(!proto_over(server));
	ck_assert_int_eq(fills, 0);
}

TEST(source_fails)
{
	fail_at = 3;
	say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	h2d_resume(held);
	pull(1 << 18);
	ck_assert_str_eq(strstr(got, "\r\n\r\n") + 4, CHUNK);
	ck_assert(proto_over(server));
	server->ops->close(&server);
	ck_assert_str_eq(log_line, "GET /stream HTTP/1.1 200 cut");
}

/* --- request bodies --------------------------------------------------------------------------- */

TEST(window)
{
	static char body[700000];
	size_t left;

	upload_consumes = false;
	say("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n");
	ck_assert_int_eq(server->ops->waits(server), PROTO_BODY);
	left = give(body, sizeof(body), 10000, 1 << 18);
	ck_assert_uint_eq(left, sizeof(body) - H1_WINDOW);
	ck_assert_uint_eq(upload_holds, H1_WINDOW);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BUSY);
	wakes = 0;
	h2d_consume(uploading, 1000);
	ck_assert_uint_eq(wakes, 1);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BODY);
	ck_assert_uint_eq(give(body, left, SIZE_MAX / 2, 1 << 18), left - 1000);
	h2d_consume(uploading, H1_WINDOW);
	ck_assert_uint_eq(give(body, left - 1000, SIZE_MAX / 2, 1 << 18), 0);
	ck_assert_int_eq(count("HTTP/1.1 201 "), 1);
	ck_assert_str_eq(got + ngot - 6, "700000");
	ck_assert_int_eq(server->ops->waits(server), PROTO_IDLE);
}

/* Until somebody takes it, next to nothing of it is taken in. */
TEST(body_that_waits)
{
	static char body[700000];
	size_t left;

	upload_consumes = false;
	upload_pauses = true;
	say("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n");
	left = give(body, sizeof(body), 10000, 1 << 18);
	ck_assert_uint_eq(left, sizeof(body) - H1_WAITING);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BUSY);
	wakes = 0;
	uploading->body_task.fn(&uploading->body_task);
	ck_assert_uint_eq(upload_holds, H1_WAITING);
	ck_assert_uint_ge(wakes, 1);
	ck_assert_uint_eq(give(body, left, 10000, 1 << 18), sizeof(body) - H1_WINDOW);
	/* And so again, with what was taken in. */
	h2d_body_pause(uploading);
	h2d_consume(uploading, H1_WINDOW - H1_WAITING);
	ck_assert_uint_eq(give(body, 1000, 1000, 1 << 18), 1000);
}

static void withdrawn(struct ahead_part *part)
{
	ahead_give(&ahead, part, part->turn.held);
}

/* Where the worker's sum is used up, a window is that of HTTP/2; and who stands still gives his
 * wide one back, but for what is in memory. */
TEST(window_and_sum)
{
	static char body[700000];
	struct ahead_part other, third;

	ahead_part_init(&other, NULL, withdrawn);
	ahead_part_init(&third, NULL, withdrawn);
	upload_consumes = false;
	ck_assert_uint_gt(
		ahead_take(&ahead, &other, ahead.line.budget.max, ahead.line.budget.max, false), 0);
	say("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n");
	ck_assert_uint_eq(give(body, 70000, 10000, 1 << 18), 70000 - AHEAD_FREE);
	h2d_consume(uploading, 1000);
	ck_assert_uint_eq(give(body, 5000, 5000, 1 << 18), 4000);
	ahead_give(&ahead, &other, other.turn.held);
	ck_assert_uint_eq(give(body, 34464 + 1000, 10000, 1 << 18), 0);
	ck_assert_uint_eq(ahead.line.budget.held, H1_WINDOW - AHEAD_FREE);
	clock_set(2500 * 1000, (struct timespec){ 0 });
	/* All but what is in memory. */
	ck_assert_uint_gt(ahead_take(&ahead, &third, ahead.line.budget.max - 34464 - 1000,
				  ahead.line.budget.max - 34464 - 1000, false),
		0);
	ck_assert_uint_eq(ahead.line.budget.held, ahead.line.budget.max);
	ck_assert_uint_eq(give(body, 1000, 1000, 1 << 18), 1000);
	ahead_give(&ahead, &third, third.turn.held);
	server->ops->close(&server);
	ck_assert_uint_eq(ahead.line.budget.held, 0);
}

/* Behind a trusted proxy the window is asked of the client's account, not of the connection's. */
TEST(window_of_a_client)
{
	static char body[200000];
	struct addr proxy, client;
	struct sites sites = sites_plain;
	struct accounts *all = accounts_new(10, &(struct account_keys){ 0 }, 64, NULL);
	struct account *his;

	sites.proxies.field = PROXIES_X_FORWARDED_FOR;
	ck_assert_ptr_null(addr_parse("192.0.2.1:80", &proxy));
	ck_assert_ptr_null(addr_parse("203.0.113.7:80", &client));
	env.sites = &sites;
	env.accounts = all;
	http_conn = (struct http_conn){
		.peer = proxy, .trusted = true, .account = account_open(all, &proxy)
	};
	his = account_open(all, &client);
	upload_consumes = false;
	say("POST /upload HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.7\r\n"
	    "Content-Length: 200000\r\n\r\n");
	ck_assert_uint_eq(give(body, 100000, 10000, 1 << 18), 0);
	ck_assert_uint_eq(his->parts[ACCOUNT_AHEAD].held, H1_WINDOW - AHEAD_FREE);
	ck_assert_uint_eq(http_conn.account->parts[ACCOUNT_AHEAD].held, 0);
	server->ops->close(&server);
	ck_assert_uint_eq(his->parts[ACCOUNT_AHEAD].held, 0);
	account_close(&his);
	account_close(&http_conn.account);
	accounts_free(&all);
}

#define EXPECT " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "

TEST_EACH(continues, 5)
{
	static const struct {
		const char *head, *rest, *status;
		bool told, over;
	} cases[] = {
		{ "POST /upload" EXPECT "3\r\n\r\n", "abc", "HTTP/1.1 201 ", true, false },
		/* some of it is there already */
		{ "POST /upload" EXPECT "3\r\n\r\na", "bc", "HTTP/1.1 201 ", false, false },
		/* nobody wants it: whether it comes is unknown, so this is the end */
		{ "POST /hello" EXPECT "3\r\n\r\n", "", "HTTP/1.1 405 ", false, true },
		{ "POST /upload" EXPECT "0\r\n\r\n", "", "HTTP/1.1 201 ", false, false },
		{ "POST /upload HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
			"abc", "HTTP/1.1 201 ", false, true },
	};

	say(cases[_i].head);
	pull(1 << 18);
	ck_assert_str_eq(cases[_i].rest[0] != '\0' ? got : "",
		cases[_i].told ? "HTTP/1.1 100 Continue\r\n\r\n" : "");
	say(cases[_i].rest);
	ck_assert_int_eq(count(cases[_i].status), 1);
	ck_assert_int_eq(count("100 Continue"), cases[_i].told);
	ck_assert_int_eq(count("connection: close"), cases[_i].over);
	ck_assert_int_eq(proto_over(server), cases[_i].over);
}

/* Whether the body is wanted is known when the password was checked. */
TEST_EACH(continues_after_a_password, 2)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char file[] = "/tmp/check_h1.XXXXXX", line[CRYPT_OUTPUT_SIZE + 10];
	const struct auth auth = { .file = file, .realm = SLICE("x") };
	struct site guarded = sites_plain.v[0];
	const struct sites sites = { .v = &guarded, .n = 1 };
	struct offload *offload;
	struct loop loop;
	int fd = mkstemp(file);

	snprintf(line, sizeof(line), "a:%s\n", crypt(_i == 0 ? "b" : "c", "$5$rounds=1000$salt"));
	ck_assert_int_gt(write(fd, line, strlen(line)), 0);
	close(fd);
	ck_assert_int_eq(loop_init(&loop), 0);
	offload = offload_new(&loop, 1);
	env.auth_queue = auth_queue_new(&loop, offload);
	guarded.all.auth = &auth;
	guarded.guarded = true;
	env.sites = &sites;

	say("POST /upload HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTpi\r\n"
	    "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	ck_assert_uint_eq(ngot, 0);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BUSY);
	wakes = 0;
	while (offload_pending(offload) > 0)
		ck_assert_int_eq(loop_turn(&loop, 10000), 0);
	ck_assert_uint_eq(wakes, 1);
	pull(1 << 18);
	if (_i == 0) {
		ck_assert_str_eq(got, go_on);
		ck_assert_int_eq(server->ops->waits(server), PROTO_BODY);
		say("abc");
		ck_assert_int_eq(count("HTTP/1.1 201 "), 1);
		ck_assert(!proto_over(server));
	} else {
		ck_assert_int_eq(count("HTTP/1.1 401 "), 1);
		ck_assert_int_eq(count("100 Continue"), 0);
		ck_assert(proto_over(server));
	}
	offload_free(&offload);
	server->ops->close(&server);
	auth_queue_free(&env.auth_queue);
	loop_fini(&loop);
	unlink(file);
}

/* Behind its end a peer that waits long is asked, once a request, whether it is there. */
TEST_EACH(asks_behind_the_end, 2)
{
	static const char *const heads[] = { "GET /later HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /later HTTP/1.0\r\n\r\n" };
	static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";

	say(heads[_i]);
	ck_assert_ptr_null(server->ops->look(server, 1000, NULL));
	server->eof = true;
	ck_assert_ptr_null(server->ops->look(server, 5000, NULL));
	ck_assert_ptr_null(server->ops->look(server, 5000 + H1_ASK_MS - 1, NULL));
	pull(1 << 18);
	ck_assert_uint_eq(ngot, 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_null(server->ops->look(server, 5000 + H1_ASK_MS, NULL));
		pull(1 << 18);
		ck_assert_int_eq(count(interim), _i == 0);
		ck_assert_uint_eq(ngot, _i == 0 ? strlen(interim) : 0);
	}
	h2d_reply_bytes(held, 200, NULL, "late", 4);
	ck_assert_ptr_null(server->ops->look(server, 9000, NULL));
	pull(1 << 18);
	ck_assert_int_eq(count("HTTP/1.1 200 "), 1);
	ck_assert_ptr_nonnull(strstr(got, "\r\n\r\nlate"));
}

TEST(unwanted_body)
{
	static char body[100000];

	/* A short one is dropped, and the connection goes on. */
	say("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
	ck_assert_int_eq(count("HTTP/1.1 405 "), 1);
	ck_assert_int_eq(count("connection: close"), 0);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BODY);
	ck_assert_uint_eq(give(body, sizeof(body), 9999, 1 << 18), 0);
	ck_assert_int_eq(server->ops->waits(server), PROTO_IDLE);
	/* A long one is the end, and that is said. */
	forget();
	say("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
	ck_assert_int_eq(count("HTTP/1.1 405 "), 1);
	ck_assert_int_eq(count("connection: close"), 1);
	ck_assert(proto_over(server));
}

/* A chunked one is read before the answer, up to a bound: behind that comes the connection's end.
 */
TEST_EACH(unwanted_endless_body, 2)
{
	static char body[16 + 65536 + 2] = "10000\r\n";
	int i;

	memcpy(body + 7 + 65536, "\r\n", 2);
	say(_i == 0 ? "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		    : "GET /later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (i = 0; i < 100 && !proto_over(server) && (_i == 0 || i < 10); i++)
		ck_assert_uint_eq(give(body, 7 + 65536 + 2, SIZE_MAX / 2, 1 << 18), 0);
	if (_i == 0) {
		ck_assert_int_eq(count("HTTP/1.1 405 "), 1);
		ck_assert_int_eq(count("connection: close"), 1);
		ck_assert_int_eq(i, H1_UNWANTED_MAX / 65536 + 1);
		return;
	}
	/* The answer is given all the same. */
	ck_assert_uint_le(server->body, 5 * 65536);
	h2d_reply_bytes(held, 200, NULL, "late", 4);
	pull(1 << 18);
	ck_assert_int_eq(count("connection: close\r\n\r\nlate"), 1);
	ck_assert(proto_over(server));
}

/* Its handler is told once, and what it would have said is not missed. */
TEST_EACH(body_goes_wrong, 2)
{
	say("POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	ck_assert_int_eq(gone, 0);
	if (_i == 0)
		say("zz\r\n");
	else
		ck_assert(server->ops->look(server, 0, ERR_TIMEOUT_HEADER) == NULL);
	pull(1 << 18);
	ck_assert_int_eq(gone, 1);
	ck_assert_int_eq(count(_i == 0 ? "HTTP/1.1 400 " : "HTTP/1.1 408 Request Timeout\r\n"), 1);
	ck_assert(proto_over(server));
	server->ops->close(&server);
	ck_assert_int_eq(gone, 1);
}

/* It is looked at before its request is answered, and what follows is no request. */
TEST_EACH(unwanted_body_goes_wrong, 6)
{
	static const char *const bad[] = { "x\r\n", "0\r\nx y\r\n\r\n", "0_2e\r\n", "\r\n",
		"5\r\r;x", "5;\r\nhello\r\n0\r\n\r\n" };

	say("GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	ck_assert_uint_eq(ngot, 0);
	ck_assert_int_eq(server->ops->waits(server), PROTO_BODY);
	say(bad[_i]);
	ck_assert_int_eq(count("HTTP/1.1 400 "), 1);
	ck_assert_int_eq(count("connection: close"), 1);
	ck_assert_int_eq(gone, 1);
	ck_assert_str_eq(log_line, "GET /hello HTTP/1.1 400 complete");
	ck_assert(proto_over(server));
	say(HELLO);
	ck_assert_int_eq(count("HTTP/1.1 "), 1);
}

/* The answer comes behind its end, and the connection goes on; who sends no end is told so. */
TEST(unwanted_chunked_body)
{
	static const char head[] =
		"GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";

	say(head);
	ck_assert_uint_eq(ngot, 0);
	say("0\r\nx: y\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	ck_assert_int_eq(count("HTTP/1.1 200 OK"), 2);
	ck_assert_int_eq(count("connection: close"), 0);
	forget();
	/* Who waits for 100 need not send it. */
	say("GET /hello HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n");
	ck_assert_int_eq(count("HTTP/1.1 200 OK"), 1);
	ck_assert_int_eq(count("connection: close"), 1);
}

TEST(unwanted_chunked_body_stops)
{
	say("GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	ck_assert(server->ops->look(server, 0, ERR_TIMEOUT_HEADER) == NULL);
	pull(1 << 18);
	ck_assert_int_eq(count("HTTP/1.1 408 "), 1);
	ck_assert(proto_over(server));
}

/* --- time and the end ------------------------------------------------------------------------- */

TEST(timeouts)
{
	ck_assert_int_eq(server->ops->waits(server), PROTO_HEADER);
	ck_assert(server->ops->look(server, 0, ERR_TIMEOUT_HEADER) != NULL);
	say("\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	ck_assert_int_eq(server->ops->waits(server), PROTO_IDLE);
	ck_assert(server->ops->look(server, 0, ERR_TIMEOUT_HEADER) != NULL);
	forget();
	say("HEAD /hello HTTP/1.1\r\nHost: abc\r\nX");
	ck_assert_int_eq(server->ops->waits(server), PROTO_HEADER);
	ck_assert(server->ops->look(server, 0, ERR_TIMEOUT_HEADER) == NULL);
	ck_assert(server->ops->look(server, 0, ERR_TIMEOUT_HEADER) != NULL);
	pull(1 << 18);
	ck_assert_int_eq(count("HTTP/1.1 408 Request Timeout\r\n"), 1);
	ck_assert_int_eq(count("connection: close"), 1);
	ck_assert_str_eq(strstr(got, "\r\n\r\n"), "\r\n\r\n");
	ck_assert(proto_over(server));
	ck_assert_str_eq(log_line, "HEAD /hello HTTP/1.1 408 complete");
}

TEST_EACH(drains, 6)
{
	switch (_i) {
	case 0: /* idle */
		say(HELLO);
		server->ops->drain(server, false);
		break;
	case 4: /* idle, and the next request is on its way */
	case 5: /* it was not */
		say(HELLO);
		server->ops->drain(server, true);
		ck_assert(!proto_over(server));
		if (_i == 5) {
			server->ops->drain(server, false);
			break;
		}
		say(HELLO);
		ck_assert_int_eq(count("connection: close\r\n\r\nhello"), 1);
		break;
	case 1: /* busy */
		say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
		server->ops->drain(server, false);
		server->ops->drain(server, false);
		ck_assert(!proto_over(server));
		h2d_reply_bytes(held, 200, NULL, "late", 4);
		pull(1 << 18);
		ck_assert_int_eq(count("connection: close\r\n\r\nlate"), 1);
		break;
	case 2: /* in its head */
		say("GET /hel");
		server->ops->drain(server, false);
		ck_assert(!proto_over(server));
		say("lo HTTP/1.1\r\nHost: a\r\n\r\n");
		ck_assert_int_eq(count("connection: close\r\n\r\nhello"), 1);
		break;
	default: /* before its first byte: answered all the same */
		server->ops->drain(server, false);
		ck_assert(!proto_over(server));
		say(HELLO);
		ck_assert_int_eq(count("connection: close\r\n\r\nhello"), 1);
	}
	ck_assert(proto_over(server));
}

TEST(ends_in_the_middle)
{
	say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	server->ops->close(&server);
	ck_assert_ptr_null(server);
	ck_assert_int_eq(gone, 1);
	ck_assert_str_eq(log_line, "GET /later HTTP/1.1 0 cut");
}

/* --- what is told ----------------------------------------------------------------------------- */

/* What its one stream waits for; PROTO_WHYS: it has none. */
static unsigned why(void)
{
	struct proto_told told = { 0 };
	char text[PROTO_TOLD_TEXT], want[PROTO_TOLD_TEXT] = "";
	unsigned found = PROTO_WHYS;

	server->ops->tell(server, &told);
	for (unsigned i = 0; i < PROTO_WHYS; i++)
		if (told.why[i] > 0) {
			ck_assert_uint_eq(found, PROTO_WHYS);
			ck_assert_uint_eq(told.why[i], 1);
			found = i;
			snprintf(want, sizeof(want), "1 for %s", proto_whys[i].text);
			ck_assert_int_eq(server->ops->waits(server), proto_whys[i].wait);
		}
	ck_assert_str_eq(proto_told_text(&told, text), want);
	return found;
}

TEST(tells_why)
{
	static char body[H1_WINDOW];

	ck_assert_uint_eq(why(), PROTO_WHYS);
	say("POST /upload HT");
	ck_assert_uint_eq(why(), PROTO_WHY_HEAD);
	upload_consumes = false;
	say("TP/1.1\r\nHost: a\r\nContent-Length: 524288\r\n\r\n");
	ck_assert_uint_eq(why(), PROTO_WHY_BODY);
	ck_assert_uint_eq(give(body, AHEAD_FREE, AHEAD_FREE, 1 << 18), 0);
	ck_assert_uint_eq(why(), PROTO_WHY_TAKE);
	ck_assert_uint_eq(give(body, H1_WINDOW - AHEAD_FREE, 10000, 1 << 18), 0);
	ck_assert_uint_eq(why(), PROTO_WHYS);
	say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	ck_assert_uint_eq(why(), PROTO_WHY_HANDLER);
	h2d_reply_bytes(held, 200, NULL, "late", 4);
	ck_assert_uint_eq(why(), PROTO_WHY_SEND);
	pull(1 << 18);
	say("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	ck_assert_uint_eq(why(), PROTO_WHY_SOURCE);
	h2d_resume(held);
	pull(1 << 18);
	say("GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
	ck_assert_uint_eq(why(), PROTO_WHY_REST);
}

static unsigned go(unsigned from, unsigned to)
{
	struct h1 h1 = { .state = (enum h1_state)from };

	h1_go(&h1, (enum h1_state)to);
	return h1.state;
}

TEST(state_steps)
{
	states_unit_walk(&h1_states,
		"SERVE>DRAIN SERVE>CLOSE SERVE>BROKEN DRAIN>CLOSE DRAIN>BROKEN CLOSE>BROKEN", go);
	states_unit_walk(&h1_part_states,
		"HEAD>LENGTH HEAD>CHUNKED HEAD>ENDED LENGTH>ENDED "
		"CHUNKED>TRAILERS CHUNKED>ENDED "
		"TRAILERS>ENDED",
		NULL);
}

/* --- odd first lines: the answer does not depend on how they come ------------------------------
 */

enum { LINE_MAX_BYTES = 60 }; /* bytes of a request line */

/* One piece, and what was not taken of it again behind the answer before. */
static void say_all(const char *text, size_t n)
{
	while (n > 0 && !proto_over(server)) {
		size_t taken = n;
		char *piece = malloc(n);

		memcpy(piece, text, n);
		ck_assert_ptr_null(server->ops->input(server, piece, &taken, 1000));
		free(piece);
		pull(1 << 18);
		text += taken;
		n -= taken;
	}
}

/* The answer to a first line that comes in pieces: a first one, and then step by step. */
static const char *answer(const char *text, size_t first, size_t step)
{
	size_t n = strlen(text);

	forget();
	env.conf.header_size = LINE_MAX_BYTES;
	if (server != NULL)
		server->ops->close(&server);
	proto_unit_open(h1_open);
	for (size_t at = 0, k; at < n && !proto_over(server); at += k) {
		size_t want = at == 0 ? first : step;

		k = n - at < want ? n - at : want;
		say_all(text + at, k);
	}
	ck_assert_msg(proto_over(server), "%s", text);
	server->ops->close(&server);
	outq_clear(&out);
	return got;
}

static const struct {
	const char *text, *status; /* NULL: the connection ends without an answer */
} lines[] = {
	/* another protocol, or a preface gone wrong */
	{ "HELO a there\r\n", NULL },
	{ "PRI * HTTX/2.0\r\n\r\nSM\r\n\r\n", NULL },
	{ "INVALID CONNECTION PREFACE\r\n\r\n", NULL },
	{ "CONNECT a:4 a:443 HTTP/1.1\r\nHost: a\r\n\n\x01", NULL },
	/* HTTP is named, or there is no third word */
	{ "HELO a \r\n\r\n", "400" },
	{ "HELO a \nGET / HTTP/1.1\r\n\r\n", "400" },
	{ "HELO a  HTTP/1.1\r\n\r\n", "400" },
	{ "HELO a HTTP HTTP/1.0\r\n", "400" },
	{ "Extra lineGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400" },
	{ "HELO a HTTP/X HTT\r\n", "400" },
	{ "HELO a HTTP/1.1 \r\n\r\n", "400" },
	{ "HELO a HTTP/1.x\r\n\r\n", "400" },
	{ "HELO a HTTP/1.1\n", "400" },
	/* a word of HTTP, or less than two words */
	{ "GET / b HTTP/1.1\r\n\r\n", "400" },
	{ "GET / \r\n\r\n", "400" },
	{ "GET  / HTTP/1.1\r\n\r\n", "400" },
	{ "HELO  HTTP/1.1\r\n\r\n", "400" },
	{ "HELO /a there HTTP/1.1\r\n", "400" },
	{ "HELO a\r\n", "400" },
	{ "\rG", "400" },
	{ "HELO\r\n", "400" },
	{ "\rHELO a b\r\n", "400" },
	{ " HELO a b\r\n", "400" },
	{ "\x16\x03\x01", "400" },
	{ "HELO a HTTP/0.9\r\n", "505" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", "505" },
	{ "HELO /23456789/123456789/123456789/123456789/123456789/123456789 HTTP/1.1\r\n", "414" },
	{ "HELO a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "501" },
};
enum { LINES = sizeof(lines) / sizeof(lines[0]) };

TEST_EACH(cuts, LINES)
{
	const char *text = lines[_i].text, *status = lines[_i].status;
	static char whole[sizeof(got)];

	strcpy(whole, answer(text, SIZE_MAX, 1));
	if (status == NULL)
		ck_assert_str_eq(whole, "");
	else
		ck_assert_msg(
			strncmp(whole, "HTTP/1.1 ", 9) == 0 && strncmp(whole + 9, status, 3) == 0,
			"%s: %s", text, whole);
	for (size_t first = 1; first < strlen(text); first++) {
		ck_assert_str_eq(answer(text, first, SIZE_MAX), whole);
		ck_assert_str_eq(answer(text, first, 1), whole);
	}
}

/* A later line of the connection is answered. */
TEST(second_request)
{
	static const char text[] = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nHELO a b\r\n";

	ck_assert_ptr_nonnull(strstr(answer(text, SIZE_MAX, 1), "HTTP/1.1 400 "));
	ck_assert_ptr_nonnull(strstr(answer(text, 1, 1), "HTTP/1.1 400 "));
}

UNIT_FIXTURE(NULL, proto_unit_fini)
