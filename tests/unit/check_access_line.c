/* check_access_line: what each format says of a request, escaping, and where pieces are cut. */
#include "server/access_logs.h"

#include "base/clock.h"
#include "unit_pure.h"

static struct access_line line;
static const struct route rows[] = { { .pattern = "/a/{\"x\"}" } };
static const struct route_table routes = { .routes = rows, .nroutes = 1 };
static struct http_env env = { .conf.routes = &routes };
static struct http_conn conn;
static struct site site = { .name = SLICE_LIT("www.example.com") };
static struct field fields[2];
static struct h2d_req req;
static char text[ACCESS_LINE_MAX + 1];

UNIT_SETUP(setup)
{
	setenv("TZ", "UTC", 1);
	clock_set(5000000, (struct timespec){ .tv_sec = 784111777, .tv_nsec = 7999999 });
	conn = (struct http_conn){ .port = 8443 };
	ck_assert(addr_parse_host(AF_INET, SLICE("192.0.2.7"), &conn.peer));
	fields[0] = (struct field){ SLICE("user-agent"), SLICE("a\"b\\c\n\xff") };
	fields[1] = (struct field){ SLICE("referer"), SLICE("http://x/") };
	req = (struct h2d_req){ .protocol = SLICE("HTTP/2.0"),
		.conn = &conn,
		.site = &site,
		.method_text = SLICE("GET"),
		.target = SLICE("/a?b"),
		.scheme = SLICE("https"),
		.authority = SLICE("h:8443"),
		.fields = fields,
		.nfields = 2,
		.env = &env,
		.record = { .bytes_out = 612, .begun_us = 1000, .ended_us = 2500 },
		.complete = true,
		.reply.status = 200 };
	line = (struct access_line){ 0 };
}

static const char *made(enum access_format format)
{
	text[access_line(&line, format, &req, text)] = '\0';
	return text;
}

TEST(anonymous)
{
	line.anonymous = true;
	ck_assert_str_eq(made(ACCESS_COMBINED),
		"192.0.2.0 - - [06/Nov/1994:08:49:37 +0000] \"GET /a?b HTTP/2.0\" 200 612 "
		"\"-\" \"-\"\n");
	ck_assert(addr_parse_host(AF_INET6, SLICE("2001:db8:1:2::3"), &conn.peer));
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"peer\":\"2001:db8:1::\""));
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"referer\":\"\",\"user_agent\":\"\""));
}

TEST(combined)
{
	ck_assert_str_eq(made(ACCESS_COMBINED),
		"192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /a?b HTTP/2.0\" 200 612 "
		"\"http://x/\" \"a\\x22b\\x5cc\\x0a\\xff\"\n");
	req.nfields = 0;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_COMBINED), " 612 \"-\" \"-\"\n"));
	req.user = SLICE("anna b\" ");
	ck_assert_ptr_nonnull(
		strstr(made(ACCESS_COMBINED), "192.0.2.7 - anna\\x20b\\x22\\x20 [06/"));
	conn.client_subject = "CN=a b";
	ck_assert_ptr_nonnull(strstr(made(ACCESS_COMBINED), "192.0.2.7 - anna"));
	req.user.n = 0;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_COMBINED), "192.0.2.7 - CN=a\\x20b [06/"));
}

TEST(combined_vhost)
{
	ck_assert_str_eq(made(ACCESS_COMBINED_VHOST),
		"www.example.com:8443 192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] "
		"\"GET /a?b HTTP/2.0\" 200 612 \"http://x/\" \"a\\x22b\\x5cc\\x0a\\xff\"\n");
	req.site = NULL;
	ck_assert_ptr_eq(strstr(made(ACCESS_COMBINED_VHOST), "-:8443 192.0.2.7 "), text);
}

TEST(json)
{
	req.user = SLICE("anna b");
	ck_assert_str_eq(made(ACCESS_JSON),
		"{\"time\":\"1994-11-06T08:49:37.007Z\",\"peer\":\"192.0.2.7\",\"user\":\"anna b\","
		"\"method\":\"GET\","
		"\"scheme\":\"https\",\"authority\":\"h:8443\",\"target\":\"/a?b\","
		"\"protocol\":\"HTTP/2.0\",\"status\":200,\"bytes\":612,"
		"\"duration_us\":1500,\"referer\":\"http://x/\","
		"\"user_agent\":\"a\\\"b\\\\c\\u000A\ufffd\",\"complete\":true,"
		"\"host\":\"h\",\"server\":\"www.example.com\",\"port\":8443,\"tls\":\"\","
		"\"cipher\":"
		"\"\",\"client_subject\":\"\",\"route\":\"none\",\"cache\":\"\",\"bytes_in\":0,"
		"\"first_byte_us\":null,"
		"\"error\":\"\"}\n");
}

TEST(json_answer)
{
	conn.tls_version = "TLSv1.3";
	conn.tls_cipher = "TLS_AES_128_GCM_SHA256";
	conn.client_subject = "CN=alice";
	req.record.source = REQ_SOURCE_DISK;
	req.record.route = REQ_ROUTE_ROWS;
	req.record.bytes_in = 7;
	req.record.first_byte_us = 1400;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON),
		"\"tls\":\"TLSv1.3\",\"cipher\":\"TLS_AES_128_GCM_SHA256\","
		"\"client_subject\":\"CN=alice\",\"route\":"
		"\"/a/{\\\"x\\\"}\",\"cache\":\"miss\",\"bytes_in\":7,\"first_byte_us\":400,"));
	req.record.source = REQ_SOURCE_IMAGE;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"cache\":\"hit\""));
}

/* A machine that has a name tells it, in this format alone. */
TEST(json_machine)
{
	ck_assert_ptr_null(strstr(made(ACCESS_JSON), "instance_name"));
	env.conf.instance_name = SLICE("web-1");
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), ",\"instance_name\":\"web-1\"}\n"));
	ck_assert_ptr_null(strstr(made(ACCESS_COMBINED), "web-1"));
	env.conf.instance_name = SLICE("");
}

/* Only of what failed, and what is known best. */
TEST(json_error)
{
	conn.error = ERR_TIMEOUT_SEND;
	req.record.error = ERR_RESET;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"error\":\"\"}"));
	req.reply.status = 404;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"error\":\"reset by the client\"}"));
	req.record.error = NULL;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"error\":\"Not Found\"}"));
	req.complete = false;
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "\"error\":\"client reads too slowly\"}"));
	conn.error = NULL;
	ck_assert_ptr_nonnull(
		strstr(made(ACCESS_JSON), "\"error\":\"ended before its answer was sent\"}"));
}

/* UTF-8 is written as it came, and a piece that is cut is cut between characters. */
TEST(json_utf8)
{
	static char longest[2048];

	fields[0].value = SLICE("\u00e9t\u00e9 \xe9");
	longest[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(longest); i += 2)
		memcpy(longest + i, "\u00e9", 2);
	req.target = slice_of(longest, sizeof(longest) - 1);
	made(ACCESS_JSON);
	ck_assert_ptr_nonnull(strstr(text, "\"user_agent\":\"\u00e9t\u00e9 \ufffd\""));
	ck_assert_ptr_nonnull(strstr(text, "\u00e9\",\"protocol\""));
}

static const struct {
	uint64_t bytes, us;
	const char *text;
} sizes[] = {
	{ 0, 0, "     0 B    0.0 ms\n" },
	{ 1023, 49, "  1023 B    0.0 ms\n" },
	{ 1024, 400, "  1.0 KB    0.4 ms\n" },
	{ 1229, 99999, "  1.2 KB   99.9 ms\n" },
	{ 10240, 100000, "   10 KB    100 ms\n" },
	{ 1048063, 999999, " 1023 KB    999 ms\n" },
	{ 1048064, 1000000, "  1.0 MB     1.0 s\n" },
	{ UINT64_MAX, 123456789, "   16 EB   123.4 s\n" },
};

TEST(brief)
{
	req.record.bytes_out = 1229;
	ck_assert_str_eq(made(ACCESS_SHORT),
		"200 GET  /a?b                                       1.2 KB    1.5 ms\n");
	req.target = SLICE("/\033[31m\"\\\xc3\xa4");
	req.method_text = SLICE("PROPFIND\n");
	req.complete = false;
	req.reply.status = 0;
	ck_assert_str_eq(made(ACCESS_SHORT), "--- PROPFIND\\x0a/\\x1b[31m\\x22\\x5c\\xc3\\xa4      "
					     "     1.2 KB    1.5 ms aborted\n");
}

TEST_ROWS(brief_sizes, sizes)
{
	req.record = (struct req_record){ .bytes_out = sizes[_i].bytes, .ended_us = sizes[_i].us };
	made(ACCESS_SHORT);
	ck_assert_str_eq(text + strlen(text) - strlen(sizes[_i].text), sizes[_i].text);
}

TEST_EACH(brief_colours, 6)
{
	static const char *const colours[] = { "31", "", "32", "36", "33", "31" };

	line.colour = true;
	req.reply.status = 100 * _i;
	made(ACCESS_SHORT);
	if (_i != 1)
		ck_assert_msg(
			strncmp(text, "\033[", 2) == 0 && strncmp(text + 2, colours[_i], 2) == 0,
			"%s", text);
	ck_assert_ptr_nonnull(strstr(text, "\033[0m GET "));
}

/* Each format has a second of its own. */
TEST(stamps)
{
	made(ACCESS_JSON);
	made(ACCESS_COMBINED);
	clock_set(6000000, (struct timespec){ .tv_sec = 784111778 });
	ck_assert_ptr_nonnull(strstr(made(ACCESS_JSON), "T08:49:38.000Z"));
	ck_assert_ptr_nonnull(strstr(made(ACCESS_COMBINED), ":08:49:38 +0000]"));
}
