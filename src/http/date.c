/*
 * date: computes the calendar itself, because gmtime(3) and timegm(3) take libc's time zone lock
 * and may read files, which a sandboxed worker cannot.
 */
#include "http/date.h"

#include <stdint.h>

static const char day_names[7][10] = {
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday",
};
static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

enum { DAY = 86400 };
static const int64_t T_MIN = -62167219200; /* 0000-01-01 00:00:00 */
static const int64_t T_MAX = 253402300799; /* 9999-12-31 23:59:59 */

/* A moment in the Gregorian calendar. */
struct civil {
	int year, month, day; /* month 0 to 11, day 1 to 31 */
	int second;           /* of the day */
};

/*
 * Days since 1970-01-01. Counts in years that begin in March, so that the leap day is the last one;
 * there are 719468 days from 0000-03-01 to 1970-01-01, 146097 in 400 years.
 */
static int64_t days_of(const struct civil *c)
{
	int64_t y = c->month < 2 ? c->year - 1 : c->year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * ((c->month + 10) % 12) + 2) / 5 + c->day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void civil_of(int64_t t, struct civil *c)
{
	int64_t days = (t >= 0 ? t : t - (DAY - 1)) / DAY;
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	c->day = (int)(doy - (153 * mp + 2) / 5 + 1);
	c->month = (int)((mp + 2) % 12);
	c->year = (int)(yoe + era * 400) + (c->month < 2);
	c->second = (int)(t - days * DAY);
}

static int64_t time_of(const struct civil *c)
{
	return days_of(c) * DAY + c->second;
}

static void put_digits(char *p, int n, int value)
{
	while (n-- > 0) {
		p[n] = (char)('0' + value % 10);
		value /= 10;
	}
}

void date_format(time_t t, char buf[DATE_LEN + 1])
{
	int64_t clamped = t < T_MIN ? T_MIN : t > T_MAX ? T_MAX : t;
	struct civil c;
	int64_t weekday;

	civil_of(clamped, &c);
	weekday = (days_of(&c) % 7 + 11) % 7; /* day 0 was a Thursday */
	memcpy(buf, "Sun, 00 Jan 0000 00:00:00 GMT", DATE_LEN + 1);
	memcpy(buf, day_names[weekday], 3);
	put_digits(buf + 5, 2, c.day);
	memcpy(buf + 8, month_names + 3 * c.month, 3);
	put_digits(buf + 12, 4, c.year);
	put_digits(buf + 17, 2, c.second / 3600);
	put_digits(buf + 20, 2, c.second / 60 % 60);
	put_digits(buf + 23, 2, c.second % 60);
}

/* --- parsing: each take_ cuts its part off the front of *s, or returns false ------------------ */

static bool date_take(struct slice *s, struct slice what)
{
	if (!slice_starts(*s, what))
		return false;
	slice_skip(s, what.n);
	return true;
}

static bool take_digits(struct slice *s, size_t n, int *value)
{
	*value = 0;
	if (s->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] < '0' || s->p[i] > '9')
			return false;
		*value = *value * 10 + (s->p[i] - '0');
	}
	slice_skip(s, n);
	return true;
}

static bool take_month(struct slice *s, int *month)
{
	for (*month = 0; *month < 12; ++*month)
		if (date_take(s, slice_of(month_names + 3 * *month, 3)))
			return true;
	return false;
}

/* "08:49:37"; second 60 is a leap second. */
static bool take_time(struct slice *s, int *second)
{
	int h, m, sec;

	if (!take_digits(s, 2, &h) || !date_take(s, SLICE(":")) || !take_digits(s, 2, &m) ||
		!date_take(s, SLICE(":")) || !take_digits(s, 2, &sec) || h > 23 || m > 59 ||
		sec > 60)
		return false;
	*second = h * 3600 + m * 60 + sec;
	return true;
}

/* "Sun" or "Sunday". Not checked against the date: no result depends on it. */
static bool take_day_name(struct slice *s, bool *whole)
{
	for (int i = 0; i < 7; i++) {
		struct slice name = slice_str(day_names[i]);

		*whole = date_take(s, name);
		if (*whole || date_take(s, slice_of(name.p, 3)))
			return true;
	}
	return false;
}

/* ", 06 Nov 1994 08:49:37 GMT": the rest of an IMF-fixdate. ", 06-Nov-94 08:49:37 GMT": that of an
 * rfc850-date; the year is left with two digits. */
static bool parse_date(struct slice s, struct slice between, unsigned digits, struct civil *c)
{
	return date_take(&s, SLICE(", ")) && take_digits(&s, 2, &c->day) &&
	       date_take(&s, between) && take_month(&s, &c->month) && date_take(&s, between) &&
	       take_digits(&s, digits, &c->year) && date_take(&s, SLICE(" ")) &&
	       take_time(&s, &c->second) && slice_eq(s, SLICE(" GMT"));
}

/* " Nov  6 08:49:37 1994": the rest of an asctime-date */
static bool parse_asctime(struct slice s, struct civil *c)
{
	return date_take(&s, SLICE(" ")) && take_month(&s, &c->month) &&
	       date_take(&s, SLICE(" ")) &&
	       (date_take(&s, SLICE(" ")) ? take_digits(&s, 1, &c->day)
					  : take_digits(&s, 2, &c->day)) &&
	       date_take(&s, SLICE(" ")) && take_time(&s, &c->second) &&
	       date_take(&s, SLICE(" ")) && take_digits(&s, 4, &c->year) && s.n == 0;
}

/* The latest such year that is not more than 50 years ahead of now (RFC 9110, 5.6.7). */
static void choose_century(struct civil *c, time_t now)
{
	struct civil limit;

	civil_of(now < T_MIN ? T_MIN : now > T_MAX ? T_MAX : now, &limit);
	c->year += limit.year / 100 * 100 + 100;
	limit.year += 50;
	while (time_of(c) > time_of(&limit))
		c->year -= 100;
}

static bool day_exists(const struct civil *c)
{
	static const int length[12] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = c->year % 4 == 0 && (c->year % 100 != 0 || c->year % 400 == 0);

	return c->day >= 1 && c->day <= length[c->month] && (c->month != 1 || c->day < 29 || leap);
}

bool date_parse(struct slice s, time_t now, time_t *t)
{
	struct civil c;
	bool whole;

	if (!take_day_name(&s, &whole))
		return false;
	if (whole) {
		if (!parse_date(s, SLICE("-"), 2, &c))
			return false;
		choose_century(&c, now);
	} else if (!parse_date(s, SLICE(" "), 4, &c) && !parse_asctime(s, &c)) {
		return false;
	}
	if (!day_exists(&c))
		return false;
	*t = time_of(&c);
	return true;
}
