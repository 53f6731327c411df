/*
 * check_top: where h2d top asks, what it makes of a status, and that lines fit the window whatever
 * is in them, and never command the terminal.
 */
#include <locale.h>

#include "tools/top/top_human.h"
#include "tools/top/top_source.h"
#include "tools/top/top_table.h"
#include "tools/top/top_view.h"
#include "unit_pure.h"

static const struct {
	const char *where, *host, *port, *path; /* host NULL: refused */
} sources[] = {
	{ "http://localhost:9180", "localhost", "9180", "" },
	{ "http://localhost:9180/status", "localhost", "9180", "" },
	{ "192.0.2.1:80", "192.0.2.1", "80", "" },
	{ "example.com", "example.com", "80", "" },
	{ "http://[::1]:81/", "::1", "81", "" },
	{ "[::1]", "::1", "80", "" },
	{ "unix:/run/h2d/admin.sock", "", "", "/run/h2d/admin.sock" },
	{ "unix:", NULL, NULL, NULL },
	{ "https://localhost", NULL, NULL, NULL },
	{ "", NULL, NULL, NULL },
	{ "http://:80", NULL, NULL, NULL },
	{ "http://[::1", NULL, NULL, NULL },
	{ "http://a:", NULL, NULL, NULL },
	{ "http://a:123456", NULL, NULL, NULL },
	{ "http://a:80b", NULL, NULL, NULL },
};

TEST_ROWS(source, sources)
{
	struct top_source s;
	char error[TOP_ERROR] = "";

	if (sources[_i].host == NULL) {
		ck_assert_int_eq(top_source_parse(&s, sources[_i].where, error), -1);
		ck_assert_str_ne(error, "");
		return;
	}
	ck_assert_int_eq(top_source_parse(&s, sources[_i].where, error), 0);
	ck_assert_str_eq(s.host, sources[_i].host);
	ck_assert_str_eq(s.port, sources[_i].port);
	ck_assert_str_eq(s.path, sources[_i].path);
}

TEST(long_source)
{
	static char where[2 * TOP_SOURCE_TEXT];
	struct top_source s;
	char error[TOP_ERROR];

	memset(where, 'a', sizeof(where) - 1);
	ck_assert_int_eq(top_source_parse(&s, where, error), -1);
	memcpy(where, "unix:/", 6);
	where[150] = '\0';
	ck_assert_int_eq(top_source_parse(&s, where, error), -1);
}

static const struct {
	const char *in, *out; /* in a window of six columns */
} texts[] = {
	{ "abc", "abc" },
	{ "abcdefgh", "abcdef" },
	{ "a\x1b[31mb", "a?[31m" },
	{ "\xc2\x9b", "?" }, /* CSI in one character of UTF-8 */
	{ "\xff\xfe", "??" },
	{ "日本語", "日本語" },
	{ "a日本語b", "a日本" },
	{ "e\xcc\x81", "e\xcc\x81" },
};

TEST_ROWS(cut, texts)
{
	struct top_page p = { .columns = 6, .rows = 2, .utf8 = true };

	top_page_put(&p, TOP_BAD, texts[_i].in);
	ck_assert_uint_eq(p.text.n, strlen(texts[_i].out));
	ck_assert_mem_eq(p.text.p, texts[_i].out, p.text.n);
	ck_assert_uint_le(p.column, 6);
	strbuf_fini(&p.text);
}

static const char status[] =
	"{\"version\":\"9.9\",\"instance_name\":\"web-1\",\"generation\":3,\"uptime\":61,\"time\":"
	"1000,"
	"\"image\":4,"
	"\"unhealthy\":[\"drained\",\"\\u001b[2Jred\",7],\"history\":[0,5,10],\"lines\":[{\"time\":"
	"0,\"level\":\"warn\",\"who\":\"master\","
	"\"text\":\"\\u001b[2Jred\\u009b\"}],\"workers\":["
	"{\"slot\":0,\"pid\":11,\"state\":\"up\",\"connections\":-5,\"requests\":1234567},"
	"{\"slot\":1,\"pid\":12,\"state\":\"drain\"},{\"slot\":2,\"pid\":13,\"state\":7}],"
	"\"totals\":{\"requests\":1234567}}";

/* Nothing stands where the window ends, however small it is. */
TEST(windows)
{
	char error[64];
	struct top_status *s = top_status_read(status, sizeof(status) - 1, error, sizeof(error));

	ck_assert_ptr_nonnull(s);
	for (unsigned rows = 1; rows < 30; rows++)
		for (unsigned columns = 1; columns < 90; columns += 11) {
			struct top_page p = { .columns = columns, .rows = rows, .utf8 = true };

			top_view(&p, s);
			strbuf_add(&p.text, SLICE("\0"));
			ck_assert_uint_le(p.row, rows);
			ck_assert_ptr_null(strchr(p.text.p, '\x1b'));
			strbuf_fini(&p.text);
		}
	top_status_free(&s);
	ck_assert_ptr_null(s);
}

TEST(whole)
{
	struct top_page p = { .utf8 = true };
	char error[64];
	struct top_status *s = top_status_read(status, sizeof(status) - 1, error, sizeof(error));

	top_view(&p, s);
	strbuf_add(&p.text, SLICE("\0"));
	for (const char *const *part = (const char *const[]){ "h2d 9.9   web-1   up 1 min 1 s",
		     "requests 1 234 567", "▁▅█", "   1 drain", "?[2Jred?",
		     "health 503: drained, ?[2Jred, \n", NULL };
		*part != NULL; part++)
		ck_assert_msg(strstr(p.text.p, *part) != NULL, "%s in %s", *part, p.text.p);
	strbuf_fini(&p.text);
	top_status_free(&s);
}

/* In a terminal as wide as most are, of a server with much to tell, nothing is cut. */
TEST(eighty_columns)
{
	static const char much[] =
		"{\"version\":\"0.1.0\",\"generation\":1234,\"uptime\":9999999,\"time\":"
		"1763898000000,"
		"\"dispatch\":\"reuseport\",\"balance\":\"least-connections\",\"image\":123456,"
		"\"image_age\":86399,\"image_size\":268435455,\"cache\":{\"entries\":1234567},"
		"\"history\":[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,"
		"8,9,"
		"1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,90],\"workers\":[],\"lines\":[],\"totals\":{"
		"\"requests\":12345678901,\"responses_2xx\":12345678901,\"responses_3xx\":1234567,"
		"\"responses_4xx\":1234567,\"responses_5xx\":12345,\"requests_aborted\":12345,"
		"\"requests_per_second\":123456,\"bytes_out_per_second\":1234567890,"
		"\"connections\":123456,\"cache_hits\":12345678901,\"cache_misses\":1234567,"
		"\"first_byte_p50_us\":1234,\"first_byte_p99_us\":123456}}";
	char error[64];
	struct top_status *s = top_status_read(much, sizeof(much) - 1, error, sizeof(error));
	struct top_page p = { .columns = 80, .rows = 24, .utf8 = true };

	ck_assert_ptr_nonnull(s);
	top_view(&p, s);
	strbuf_add(&p.text, SLICE("\0"));
	for (const char *const *part = (const char *const[]){ "UTC", "█", "5xx", "broken off 12",
		     "p99 123 ms", "misses 1 234 567", "files 1 234 567", NULL };
		*part != NULL; part++)
		ck_assert_msg(strstr(p.text.p, *part) != NULL, "%s in %s", *part, p.text.p);
	strbuf_fini(&p.text);
	top_status_free(&s);
}

/* Each machine has a line; one that does not answer is in no sum, and says why. */
TEST(several)
{
	static const char *const answers[] = {
		"{\"instance_name\":\"web-1\",\"time\":1000,\"unhealthy\":[\"drained\"],"
		"\"totals\":{\"requests\":1000,\"requests_per_second\":10,\"connections\":3}}",
		"{\"instance_name\":\"\\u001b[2J-and-a-long-name\",\"totals\":{\"requests\":200,"
		"\"requests_per_second\":5,\"connections\":4,\"responses_5xx\":7}}",
		"{\"instance_name\":\"web-3\",\"totals\":{\"requests\":5000}}",
	};
	struct top_machine m[6] = { 0 };
	struct top_page p = { .utf8 = true };
	char why[64];

	for (unsigned i = 0; i < 6; i++) {
		snprintf(m[i].source.text, sizeof(m[i].source.text), "http://host-%u", i + 1);
		top_machine_init(&m[i]);
		if (i < 3)
			m[i].status =
				top_status_read(answers[i], strlen(answers[i]), why, sizeof(why));
	}
	m[5].status = top_status_read("{}", 2, why, sizeof(why));
	snprintf(m[2].error, sizeof(m[2].error), "http://host-3: refused");
	snprintf(m[3].error, sizeof(m[3].error), "http://host-4: \x1b unknown");
	top_table(&p, m, 6);
	strbuf_add(&p.text, SLICE("\0"));
	for (const char *const *part =
			(const char *const[]){ "3 of 6 machines answer, health 200 from 2",
				"requests/s 15 ", "connections 7 ", "requests 1 200 ", "5xx 7 ",
				"web-1            503 drained            3         10 ",
				"?[2J-and-a-long- 200 ",
				"web-3            http://host-3: refused\n",
				"\nhttp://host-4: ? unknown\n", "\nhttp://host-5: asked\n",
				"\nhost-6           200 ", NULL };
		*part != NULL; part++)
		ck_assert_msg(strstr(p.text.p, *part) != NULL, "%s in %s", *part, p.text.p);
	strbuf_fini(&p.text);
	for (unsigned rows = 1; rows < 15; rows++)
		for (unsigned columns = 1; columns < 90; columns += 11) {
			p = (struct top_page){ .columns = columns, .rows = rows, .utf8 = true };
			top_table(&p, m, 6);
			ck_assert_uint_le(p.row, rows);
			strbuf_fini(&p.text);
		}
	for (unsigned i = 0; i < 6; i++)
		top_machine_fini(&m[i]);
}

/* Another program's answer. */
TEST(strange)
{
	static const char *const answers[] = { "{}", "[]", "{\"workers\":7,\"lines\":{}}",
		"{\"workers\":[7,null,{}],\"history\":[\"a\"],\"totals\":[]}" };
	char error[64] = "";
	struct top_status *s;

	ck_assert_ptr_null(top_status_read("<html>", 6, error, sizeof(error)));
	ck_assert_str_ne(error, "");
	ck_assert_ptr_null(top_status_read("", 0, error, sizeof(error)));
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct top_page p = { .columns = 80, .rows = 24, .screen = true };

		s = top_status_read(answers[i], strlen(answers[i]), error, sizeof(error));
		ck_assert_ptr_nonnull(s);
		top_view(&p, s);
		ck_assert_uint_gt(p.row, 5);
		strbuf_fini(&p.text);
		top_status_free(&s);
	}
}

TEST(numbers)
{
	char b[HUMAN_SIZE];

	ck_assert_str_eq(top_human_count(b, 0), "0");
	ck_assert_str_eq(top_human_count(b, 999), "999");
	ck_assert_str_eq(top_human_count(b, 1000), "1 000");
	ck_assert_str_eq(top_human_count(b, UINT64_MAX), "18 446 744 073 709 551 615");
	ck_assert_str_eq(top_human_seconds(b, 59), "59 s");
	ck_assert_str_eq(top_human_seconds(b, 3599), "59 min 59 s");
	ck_assert_str_eq(top_human_seconds(b, 3600), "1 h 0 min");
	ck_assert_str_eq(top_human_seconds(b, 90061), "1 d 1 h");
	ck_assert_str_eq(top_human_us(b, 0), "0.00 ms");
	ck_assert_str_eq(top_human_us(b, 9994), "9.99 ms");
	ck_assert_str_eq(top_human_us(b, 9996), "10.0 ms");
	ck_assert_str_eq(top_human_us(b, 99960), "100 ms");
	ck_assert_str_eq(top_human_us(b, 999499), "999 ms");
	ck_assert_str_eq(top_human_us(b, 1234567), "1.23 s");
}

UNIT_STATEMENT(begin, setlocale(LC_CTYPE, "C.UTF-8"))
