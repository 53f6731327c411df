/* check_date: formatting against libc's calendar, the three forms, and what is no date. */
#include "http/date.h"

#include "unit_pure.h"

enum { NOW = 1795255872 }; /* Sat, 21 Nov 2026 10:11:12 GMT */

/* Checks only what fails: libcheck takes note of every check. */
static void assert_round(time_t t)
{
	char ours[DATE_LEN + 1], libc[64];
	struct tm tm;
	time_t back = t + 1;

	gmtime_r(&t, &tm);
	strftime(libc, sizeof(libc), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	date_format(t, ours);
	if (tm.tm_year + 1900 >= 1000 && strcmp(ours, libc) != 0) /* libc does not pad years */
		ck_abort_msg("%s is not %s", ours, libc);
	if (!date_parse(slice_str(ours), NOW, &back) || back != t)
		ck_abort_msg("%s does not come back", ours);
}

/* Days of the whole calendar, each of 400 years, at a time of the day that wanders through it. */
TEST(test_round)
{
	time_t second = 0;

	for (time_t day = -719528; day <= 2932896; day += day < 0 || day > 146097 ? 41 : 1) {
		assert_round(day * 86400 + second);
		second = (second + 7919) % 86400;
	}
}

static const struct {
	time_t t;
	const char *text;
} known[] = {
	{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },
	{ NOW, "Sat, 21 Nov 2026 10:11:12 GMT" },
	{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
	{ -1, "Wed, 31 Dec 1969 23:59:59 GMT" },
	{ 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
	{ -62167219200, "Sat, 01 Jan 0000 00:00:00 GMT" },
	{ -62167219201, "Sat, 01 Jan 0000 00:00:00 GMT" },
	{ 253402300799, "Fri, 31 Dec 9999 23:59:59 GMT" },
	{ 253402300800, "Fri, 31 Dec 9999 23:59:59 GMT" },
	{ INT64_MIN, "Sat, 01 Jan 0000 00:00:00 GMT" },
	{ INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT" },
};

TEST_ROWS(test_format, known)
{
	char buf[DATE_LEN + 1];

	date_format(known[_i].t, buf);
	ck_assert_str_eq(buf, known[_i].text);
}

static const struct {
	const char *text;
	time_t now, t;
} good[] = {
	{ "Sun, 06 Nov 1994 08:49:37 GMT", NOW, 784111777 },
	{ "Sunday, 06-Nov-94 08:49:37 GMT", NOW, 784111777 },
	{ "Sun Nov  6 08:49:37 1994", NOW, 784111777 },
	{ "Sat Nov 21 10:11:12 2026", NOW, NOW },
	{ "Mon, 06 Nov 1994 08:49:37 GMT", NOW, 784111777 }, /* the day's name is not checked */
	{ "Sat, 31 Dec 2016 23:59:60 GMT", NOW, 1483228800 },
	/* two digits: 50 years ahead are the future, a second more is the past */
	{ "Saturday, 21-Nov-76 10:11:12 GMT", NOW, 3373179072 },
	{ "Saturday, 21-Nov-76 10:11:13 GMT", NOW, 217419073 },
	{ "Friday, 01-Jan-27 00:00:00 GMT", NOW, 1798761600 },
	{ "Thursday, 31-Dec-99 23:59:59 GMT", NOW, 946684799 },
	{ "Tuesday, 29-Feb-00 00:00:00 GMT", NOW, 951782400 },
	{ "Friday, 01-Jan-05 00:00:00 GMT", 4092595200 /* 2099-09-09 */, 4260211200 /* 2105 */ },
};

TEST_ROWS(test_good, good)
{
	time_t t = 0;

	ck_assert_msg(date_parse(slice_str(good[_i].text), good[_i].now, &t), "%s", good[_i].text);
	ck_assert_int_eq(t, good[_i].t);
}

static const char *const bad[] = {
	"",
	"0",
	"784111777",
	"Sun",
	"Sun, 06 Nov 1994 08:49:37",
	"Sun, 06 Nov 1994 08:49:37 UTC",
	"Sun, 06 Nov 1994 08:49:37 GMT ",
	" Sun, 06 Nov 1994 08:49:37 GMT",
	"Sun, 6 Nov 1994 08:49:37 GMT",
	"sun, 06 Nov 1994 08:49:37 GMT",
	"Sun, 06 nov 1994 08:49:37 GMT",
	"Sun, 00 Nov 1994 08:49:37 GMT",
	"Sun, 31 Nov 1994 08:49:37 GMT",
	"Sun, 29 Feb 1900 08:49:37 GMT",
	"Sun, 29 Feb 2001 08:49:37 GMT",
	"Sun, 06 Nov 1994 24:00:00 GMT",
	"Sun, 06 Nov 1994 08:60:37 GMT",
	"Sun, 06 Nov 1994 08:49:61 GMT",
	"Sun, 06 Nov -994 08:49:37 GMT",
	"Sun, 06 Nov 1994 +8:49:37 GMT",
	"Sun, 06 Foo 1994 08:49:37 GMT",
	"Xyz, 06 Nov 1994 08:49:37 GMT",
	"Sunday, 06 Nov 1994 08:49:37 GMT",
	"Sun, 06-Nov-94 08:49:37 GMT",
	"Sunday, 06-Nov-1994 08:49:37 GMT",
	"Monday, 29-Feb-01 08:49:37 GMT",
	"Sun Nov 6 08:49:37 1994",
	"Sun Nov  6 08:49:37 94",
	"Sun Nov  6 08:49:37 1994 GMT",
	"Sun Nov  0 08:49:37 1994",
};

TEST_ROWS(test_bad, bad)
{
	time_t t = 42;

	ck_assert_msg(!date_parse(slice_str(bad[_i]), NOW, &t), "%s", bad[_i]);
	ck_assert_int_eq(t, 42);
}

/* No beginning of a date is one, and nothing behind its end is looked at. */
TEST_ROWS(test_cut, good)
{
	for (size_t n = 0; n < strlen(good[_i].text); n++) {
		char *cut = malloc(n);
		time_t t;

		memcpy(cut, good[_i].text, n);
		ck_assert(!date_parse(slice_of(cut, n), NOW, &t));
		free(cut);
	}
}
