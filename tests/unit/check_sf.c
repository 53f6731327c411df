/* check_sf: items of structured fields, whole ones and parts of them (RFC 9651, 4.2). */
#include "http/sf.h"

#include "unit_pure.h"

enum { BAD = -77 };

static const struct {
	const char *text;
	int64_t value;
} integers[] = {
	{ "0", 0 },
	{ "8", 8 },
	{ "-0", 0 },
	{ "-42", -42 },
	{ "007", 7 },
	{ "  12  ", 12 },
	{ "999999999999999", 999999999999999 },
	{ "-999999999999999", -999999999999999 },
	{ "000000000000001", 1 },
	{ "1;a", 1 },
	{ "1;a=1;b=?0; c=\"x;y\";*d=:AA==:", 1 },
	{ "1;a=t/k:1 ", 1 },
	{ "1;a=\" ~\"", 1 },

	{ "", BAD },
	{ " ", BAD },
	{ "-", BAD },
	{ "--1", BAD },
	{ "+1", BAD },
	{ "1.0", BAD },
	{ "1.", BAD },
	{ "1e3", BAD },
	{ "0x1", BAD },
	{ "1000000000000000", BAD },
	{ "0000000000000001", BAD },
	{ "99999999999999999999", BAD },
	{ "1, 2", BAD },
	{ "1 2", BAD },
	{ "\t1", BAD },
	{ "1\t", BAD },
	{ "1;", BAD },
	{ "1;A", BAD },
	{ "1;a=", BAD },
	{ "1;a=\"\x1f\"", BAD },
	{ "1;a=\"\x7f\"", BAD },
	{ "1;a=\"\xc3\xa4\"", BAD },
	{ "1 ;a", BAD },
	{ "?1", BAD },
	{ "\"1\"", BAD },
	{ "a", BAD },
};

/* Behind the slice lie digits, which must not be read. */
static struct slice behind(const char *text, char buf[96])
{
	size_t n = strlen(text);

	memset(buf, '1', 96);
	memcpy(buf, text, n);
	return slice_of(buf, n);
}

TEST_ROWS(integer, integers)
{
	int64_t v = 0;
	char buf[96];
	bool is = sf_integer(behind(integers[_i].text, buf), &v);

	ck_assert_msg(is == (integers[_i].value != BAD), "%s", integers[_i].text);
	if (is)
		ck_assert_int_eq(v, integers[_i].value);
}

static const struct {
	const char *text;
	int value;
} booleans[] = {
	{ "?1", 1 },
	{ "?0", 0 },
	{ " ?1 ", 1 },
	{ "?0;a=1", 0 },

	{ "", BAD },
	{ "?", BAD },
	{ "?2", BAD },
	{ "? 1", BAD },
	{ "?10", BAD },
	{ "?1, ?1", BAD },
	{ "1", BAD },
	{ "true", BAD },
	{ "?T", BAD },
	{ "?1;", BAD },
};

TEST_ROWS(boolean, booleans)
{
	bool v = false;
	char buf[96];
	bool is = sf_boolean(behind(booleans[_i].text, buf), &v);

	ck_assert_msg(is == (booleans[_i].value != BAD), "%s", booleans[_i].text);
	if (is)
		ck_assert_int_eq(v, booleans[_i].value);
}
