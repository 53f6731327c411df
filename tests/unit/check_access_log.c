/* check_access_log: both formats, escaping, cutting, and that lines are written whole. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/access_log.h"
#include "unit.h"

static struct loop loop;
static struct access_log logfile;
static int fds[2];
static struct http_conn conn;
static struct field fields[2];
static struct h2d_req req;
static char text[1 << 18];

static void setup(void)
{
	setenv("TZ", "UTC", 1);
	ck_assert_int_eq(loop_init(&loop), 0);
	ck_assert_int_eq(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	clock_set(5000000, (struct timespec){ .tv_sec = 784111777, .tv_nsec = 7999999 });
	ck_assert(addr_parse_host(AF_INET, SLICE("192.0.2.7"), &conn.peer));
	fields[0] = (struct field){ SLICE("user-agent"), SLICE("a\"b\\c\n\xff") };
	fields[1] = (struct field){ SLICE("referer"), SLICE("http://x/") };
	req = (struct h2d_req){ .protocol = SLICE("HTTP/2.0"),
		.conn = &conn,
		.method_text = SLICE("GET"),
		.target = SLICE("/a?b"),
		.scheme = SLICE("https"),
		.authority = SLICE("h"),
		.fields = fields,
		.nfields = 2,
		.sent = 612,
		.started_us = clock_read_us() - 1500,
		.complete = true,
		.reply.status = 200 };
}

static void teardown(void)
{
	access_log_fini(&logfile);
	loop_fini(&loop);
	close(fds[0]);
	close(fds[1]);
}

static const char *written(void)
{
	ssize_t n = read(fds[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(combined)
{
	ck_assert_int_eq(access_log_init(&logfile, &loop, fds[1], ACCESS_COMBINED), 0);
	access_log_write(&logfile, &req);
	ck_assert_str_eq(written(), ""); /* gathered */
	ck_assert(timer_armed(&logfile.timer));
	access_log_flush(&logfile);
	ck_assert_str_eq(written(),
		"192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /a?b HTTP/2.0\" 200 612 "
		"\"http://x/\" \"a\\x22b\\x5cc\\x0a\\xff\"\n");
	req.nfields = 0;
	access_log_write(&logfile, &req);
	access_log_flush(&logfile);
	ck_assert_ptr_nonnull(strstr(written(), " 612 \"-\" \"-\"\n"));
	req.user = SLICE("anna b\" ");
	access_log_write(&logfile, &req);
	access_log_flush(&logfile);
	ck_assert_ptr_nonnull(strstr(written(), "192.0.2.7 - anna\\x20b\\x22\\x20 [06/"));
}
END_TEST

/* Takes the duration out of a line; 1500 microseconds had gone by before the line was written. */
static const char *without_duration(const char *line)
{
	static char rest[4096];
	const char *at = strstr(line, "\"duration_us\":");
	char *end;

	ck_assert_ptr_nonnull(at);
	ck_assert_uint_ge(strtoul(at + strlen("\"duration_us\":"), &end, 10), 1500);
	ck_assert_uint_lt(strtoul(at + strlen("\"duration_us\":"), &end, 10), 60000000);
	snprintf(rest, sizeof(rest), "%.*s%s", (int)(at - line), line, end + 1);
	return rest;
}

START_TEST(json)
{
	ck_assert_int_eq(access_log_init(&logfile, &loop, fds[1], ACCESS_JSON), 0);
	req.user = SLICE("anna b");
	access_log_write(&logfile, &req);
	access_log_flush(&logfile);
	clock_set(6000000, clock_wall()); /* what the turn's clock says is of no account */
	ck_assert_str_eq(without_duration(written()),
		"{\"time\":\"1994-11-06T08:49:37.007Z\",\"peer\":\"192.0.2.7\",\"user\":\"anna b\","
		"\"method\":\"GET\","
		"\"scheme\":\"https\",\"authority\":\"h\",\"target\":\"/a?b\","
		"\"protocol\":\"HTTP/2.0\",\"status\":200,\"bytes\":612,"
		"\"referer\":\"http://x/\","
		"\"user_agent\":\"a\\\"b\\\\c\\u000A\ufffd\",\"complete\":true}\n");
}
END_TEST

/* UTF-8 is written as it came, and a piece that is cut is cut between characters. */
START_TEST(json_utf8)
{
	static char longest[2048];

	ck_assert_int_eq(access_log_init(&logfile, &loop, fds[1], ACCESS_JSON), 0);
	fields[0].value = SLICE("\u00e9t\u00e9 \xe9");
	longest[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(longest); i += 2)
		memcpy(longest + i, "\u00e9", 2);
	req.target = slice_of(longest, sizeof(longest) - 1);
	access_log_write(&logfile, &req);
	access_log_flush(&logfile);
	written();
	ck_assert_ptr_nonnull(strstr(text, "\"user_agent\":\"\u00e9t\u00e9 \ufffd\""));
	ck_assert_ptr_nonnull(strstr(text, "\u00e9\",\"protocol\""));
}
END_TEST

/* Every piece as long and as bad as it gets, many times: nothing overflows, every line is whole. */
START_TEST(worst_case)
{
	static char bad[8192], spaces[8192];
	int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *in;
	char *line = NULL;
	size_t cap = 0, lines = 0;
	ssize_t n;

	ck_assert_int_ge(file, 0);
	memset(bad, '\n', sizeof(bad));
	req.method_text = req.scheme = req.authority = req.target = slice_of(bad, sizeof(bad));
	memset(spaces, ' ', sizeof(spaces));
	req.user = _i == 0 ? slice_of(spaces, sizeof(spaces)) : req.target;
	fields[0].value = fields[1].value = slice_of(bad, sizeof(bad));
	ck_assert_int_eq(
		access_log_init(&logfile, &loop, file, _i == 0 ? ACCESS_COMBINED : ACCESS_JSON), 0);
	for (int i = 0; i < 100; i++)
		access_log_write(&logfile, &req);
	access_log_flush(&logfile);
	logfile.fd = -1;
	lseek(file, 0, SEEK_SET);
	in = fdopen(file, "r");
	while ((n = getline(&line, &cap, in)) > 0) {
		ck_assert_int_eq(line[0], _i == 0 ? '1' : '{');
		ck_assert_int_eq(line[n - 1], '\n');
		ck_assert_int_eq(line[n - 2], _i == 0 ? '"' : '}');
		lines++;
	}
	ck_assert_uint_eq(lines, 100);
	free(line);
	fclose(in);
}
END_TEST

START_TEST(off)
{
	ck_assert_int_eq(access_log_init(&logfile, &loop, -1, ACCESS_COMBINED), 0);
	access_log_write(&logfile, &req);
	ck_assert_uint_eq(logfile.len, 0);
	ck_assert(!timer_armed(&logfile.timer));
}
END_TEST

static TCase *tests(void)
{
	TCase *c = tcase_create("access_log");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, combined);
	tcase_add_test(c, json);
	tcase_add_test(c, json_utf8);
	tcase_add_loop_test(c, worst_case, 0, 2);
	tcase_add_test(c, off);
	return c;
}

UNIT_MAIN("access_log")
