/* check_access_log: lines are gathered, flushed and written whole, however long they are. */

#include "base/clock.h"
#include "loop_unit.h"
#include "server/access_logs.h"

static struct access_log logfile;
static int fds[2];
static const struct route_table routes;
static struct http_env env = { .conf.routes = &routes };
static struct http_conn conn;
static struct field fields[2];
static struct h2d_req req;
static struct access_line line;
static char text[1 << 18];

static const enum access_format formats[] = { ACCESS_COMBINED, ACCESS_COMBINED_VHOST, ACCESS_JSON,
	ACCESS_SHORT };

UNIT_SETUP(setup)
{
	setenv("TZ", "UTC", 1);
	ck_assert_int_eq(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	clock_set(5000000, (struct timespec){ .tv_sec = 784111777, .tv_nsec = 7999999 });
	ck_assert(addr_parse_host(AF_INET, SLICE("192.0.2.7"), &conn.peer));
	conn.port = 443;
	req = (struct h2d_req){ .protocol = SLICE("HTTP/2.0"),
		.conn = &conn,
		.env = &env,
		.method_text = SLICE("GET"),
		.target = SLICE("/a"),
		.record = { .bytes_out = 612 },
		.reply.status = 200 };
}

UNIT_TEARDOWN(teardown)
{
	access_log_fini(&logfile);
	close(fds[0]);
	close(fds[1]);
}

static const char *written(void)
{
	ssize_t n = read(fds[0], text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

TEST(gathered)
{
	ck_assert_int_eq(access_log_init(&logfile, &loop, fds[1]), 0);
	access_log_write(&logfile, &line, ACCESS_COMBINED, &req);
	access_log_write(&logfile, &line, ACCESS_COMBINED_VHOST, &req);
	ck_assert_str_eq(written(), "");
	ck_assert(timer_armed(&logfile.timer));
	access_log_flush(&logfile);
	ck_assert(!timer_armed(&logfile.timer));
	ck_assert_str_eq(written(),
		"192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/2.0\" 200 612 \"-\" "
		"\"-\"\n-:443 192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/2.0\" 200 "
		"612 \"-\" \"-\"\n");
}

/* Every piece as long and as bad as it gets, many times: nothing overflows, every line is whole. */
TEST_ROWS(worst_case, formats)
{
	static char bad[8192], spaces[8192];
	enum access_format format = formats[_i];
	int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *in;
	char *got = NULL;
	size_t cap = 0, lines = 0;
	ssize_t n;

	ck_assert_int_ge(file, 0);
	memset(bad, '\n', sizeof(bad));
	req.method_text = req.scheme = req.authority = req.target = slice_of(bad, sizeof(bad));
	memset(spaces, ' ', sizeof(spaces));
	req.user = format == ACCESS_JSON ? req.target : slice_of(spaces, sizeof(spaces));
	fields[0] = (struct field){ SLICE("user-agent"), req.target };
	fields[1] = (struct field){ SLICE("referer"), req.target };
	req.fields = fields;
	req.nfields = 2;
	ck_assert_int_eq(access_log_init(&logfile, &loop, file), 0);
	for (int i = 0; i < 100; i++)
		access_log_write(&logfile, &line, format, &req);
	access_log_flush(&logfile);
	lseek(file, 0, SEEK_SET);
	in = fdopen(file, "r");
	while ((n = getline(&got, &cap, in)) > 0) {
		ck_assert_int_lt(n, ACCESS_LINE_MAX);
		ck_assert_int_eq(got[0], "1-{2"[_i]);
		ck_assert_int_eq(got[n - 1], '\n');
		ck_assert_int_eq(got[n - 2], "\"\"}d"[_i]);
		lines++;
	}
	ck_assert_uint_eq(lines, 100);
	free(got);
	fclose(in);
}
