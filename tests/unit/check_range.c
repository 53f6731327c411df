/* check_range: the grammar, what is satisfiable, what becomes one, what is ignored. */
#include "http/range.h"

#include "unit_pure.h"

/* result: "at+n at+n …" for 206, "200" or "416". */
static const struct {
	const char *value;
	uint64_t size;
	const char *result;
} cases[] = {
	{ "bytes=0-0", 10, "0+1" },
	{ "bytes=0-", 10, "0+10" },
	{ "bytes=3-", 10, "3+7" },
	{ "bytes=3-5", 10, "3+3" },
	{ "bytes=9-9", 10, "9+1" },
	{ "bytes=9-10", 10, "9+1" },
	{ "bytes=0-9", 10, "0+10" },
	{ "bytes=0-99", 10, "0+10" },
	{ "bytes=-1", 10, "9+1" },
	{ "bytes=-10", 10, "0+10" },
	{ "bytes=-11", 10, "0+10" },
	{ "BYTES=1-1", 10, "1+1" },
	{ "bytes=007-008", 10, "7+2" },
	{ "bytes=10-", 10, "416" },
	{ "bytes=10-20", 10, "416" },
	{ "bytes=-0", 10, "416" },
	{ "bytes=10-,11-12,-0", 10, "416" },

	/* numbers without limit */
	{ "bytes=0-18446744073709551615", 10, "0+10" },
	{ "bytes=1-18446744073709551616", 10, "1+9" },
	{ "bytes=1-99999999999999999999999999999999", 10, "1+9" },
	{ "bytes=18446744073709551616-", 10, "416" },
	{ "bytes=-99999999999999999999999", 10, "0+10" },
	{ "bytes=99999999999999999999-99999999999999999998", 10, "416" },

	/* no content */
	{ "bytes=0-", 0, "416" },
	{ "bytes=0-0", 0, "416" },
	{ "bytes=-0", 0, "416" },
	{ "bytes=-1", 0, "200" },
	{ "bytes=0-,-5", 0, "200" },

	/* several */
	{ "bytes=0-1,4-5", 10, "0+2 4+2" },
	{ "bytes=4-5,0-1", 10, "4+2 0+2" },
	{ "bytes=0-0,-1", 10, "0+1 9+1" },
	{ "bytes= 0-1 ,\t4-5 ", 10, "0+2 4+2" },
	{ "bytes=,,0-1,,4-5,", 10, "0+2 4+2" },
	{ "bytes=0-1,20-30", 10, "0+2" },
	{ "bytes=20-30,0-1,-0", 10, "0+2" },
	{ "bytes=0-3,2-5", 10, "0+6" },
	{ "bytes=2-5,0-3", 10, "0+6" },
	{ "bytes=0-1,2-3", 10, "0+4" },
	{ "bytes=2-3,0-1", 10, "0+4" },
	{ "bytes=0-0,2-2,1-1", 10, "0+3" },
	{ "bytes=8-8,0-0,2-2,1-1", 10, "8+1 0+3" },
	{ "bytes=4-4,0-0,2-2,8-8,1-3", 10, "0+5 8+1" },
	{ "bytes=5-6,0-0,5-6,5-6", 10, "5+2 0+1" },
	{ "bytes=1-8,2-3,4-5", 10, "1+8" },
	{ "bytes=0-4,5-9", 10, "200" },
	{ "bytes=0-,0-", 10, "200" },
	{ "bytes=3-,-8", 10, "2+8" },

	/* not ours, or malformed: RFC 9110, 14.2 */
	{ "", 10, "200" },
	{ "bytes", 10, "200" },
	{ "bytes=", 10, "200" },
	{ "bytes=,", 10, "200" },
	{ "bytes=-", 10, "200" },
	{ "bytes=1", 10, "200" },
	{ "bytes=a-b", 10, "200" },
	{ "bytes=2-1", 10, "200" },
	{ "bytes=0-1,2-1", 10, "200" },
	{ "bytes=0-1,x", 10, "200" },
	{ "bytes=0-1,5", 10, "200" },
	{ "bytes=1-2-3", 10, "200" },
	{ "bytes=--1", 10, "200" },
	{ "bytes=+1-2", 10, "200" },
	{ "bytes=1 -2", 10, "200" },
	{ "bytes=1- 2", 10, "200" },
	{ "bytes =0-1", 10, "200" },
	{ " bytes=0-1", 10, "200" },
	{ "bytes:0-1", 10, "200" },
	{ "bytes=0-1;x", 10, "200" },
	{ "bytes=0x1-2", 10, "200" },
	{ "byte=0-1", 10, "200" },
	{ "lines=0-1", 10, "200" },
	{ "0-1", 10, "200" },
};

static void check(struct slice value, uint64_t size, const char *wanted)
{
	struct ranges r;
	char got[512] = "";
	size_t n = 0;

	switch (range_parse(value, size, &r)) {
	case RANGE_IGNORED:
		strcpy(got, "200");
		break;
	case RANGE_UNSATISFIABLE:
		strcpy(got, "416");
		break;
	case RANGE_PARTIAL:
		for (unsigned i = 0; i < r.n; i++)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%llu+%llu",
				i > 0 ? " " : "", (unsigned long long)r.v[i].at,
				(unsigned long long)r.v[i].n);
	}
	ck_assert_msg(strcmp(got, wanted) == 0, "%.*s: %s", SLICE_ARG(value), got);
}

TEST_ROWS(test_case, cases)
{
	size_t n = strlen(cases[_i].value);
	char *exact = malloc(n + 1);

	/* Not a byte behind it. */
	memcpy(exact, cases[_i].value, n);
	check(slice_of(exact, n), cases[_i].size, cases[_i].result);
	free(exact);
}

/* n ranges that do not touch, or all the same, and what becomes of them. */
static void check_many(unsigned n, unsigned step, enum range_result result, unsigned left)
{
	char value[4096] = "bytes=", *p = value + strlen(value);
	struct ranges r;

	for (unsigned i = 0; i < n; i++)
		p += sprintf(p, "%s%u-%u", i > 0 ? "," : "", i * step, i * step);
	ck_assert_int_eq(range_parse(slice_str(value), 10000, &r), result);
	if (result != RANGE_IGNORED)
		ck_assert_uint_eq(r.n, left);
}

/* zsync asks for 20 at a time, and Apache takes 200. */
TEST(test_many)
{
	check_many(20, 2, RANGE_PARTIAL, 20);
	check_many(200, 2, RANGE_PARTIAL, 200);
	check_many(200, 0, RANGE_PARTIAL, 1);
	check_many(201, 2, RANGE_IGNORED, 0);
	check_many(201, 0, RANGE_IGNORED, 0);
}

/* At the end of what a number can say nothing wraps. */
TEST(test_huge)
{
	check(SLICE("bytes=0-0,-1"), UINT64_MAX, "0+1 18446744073709551614+1");
	check(SLICE("bytes=1-18446744073709551615"), UINT64_MAX, "1+18446744073709551614");
	check(SLICE("bytes=18446744073709551614-,18446744073709551613-18446744073709551613"),
		UINT64_MAX, "18446744073709551613+2");
}
