/* check_cond: each condition alone, their precedence, lists over several fields, the ignored; for
 * methods that change something, with and without something there. */
#include "http/cond.h"

#include "unit_pure.h"

enum { MODIFIED = 784111777, NOW = 1795255872 };

#define SAME    "Sun, 06 Nov 1994 08:49:37 GMT"
#define EARLIER "Sun, 06 Nov 1994 08:49:36 GMT"
#define LATER   "Sun, 06 Nov 1994 08:49:38 GMT"

/* Fields as "name: value" lines; the representation's tag is "abc". */
static const struct {
	const char *fields;
	enum cond_result result;
} cases[] = {
	{ "", COND_PROCEED },
	{ "accept: */*\nif: x\nif-range: \"abc\"\nif-matched: *\n", COND_PROCEED },

	{ "if-none-match: \"abc\"\n", COND_NOT_MODIFIED },
	{ "if-none-match: W/\"abc\"\n", COND_NOT_MODIFIED },
	{ "if-none-match: *\n", COND_NOT_MODIFIED },
	{ "if-none-match: \"x\", W/\"abc\" , \"y\"\n", COND_NOT_MODIFIED },
	{ "if-none-match: ,, \"x\",,\"abc\"\n", COND_NOT_MODIFIED },
	{ "if-none-match: \"a,b\", \"abc\"\n", COND_NOT_MODIFIED },
	{ "if-none-match: \"a\\\", \"abc\"\n", COND_NOT_MODIFIED }, /* no escapes in tags */
	{ "if-none-match: \"x\"\naccept: *\nif-none-match: \"abc\"\n", COND_NOT_MODIFIED },
	{ "if-none-match: \"x\"\n", COND_PROCEED },
	{ "if-none-match: \"ABC\"\n", COND_PROCEED },
	{ "if-none-match: \"abcd\"\n", COND_PROCEED },
	{ "if-none-match: w/\"abc\"\n", COND_PROCEED },
	{ "if-none-match: abc\n", COND_PROCEED },
	{ "if-none-match: \"abc\n", COND_PROCEED },
	{ "if-none-match: abc\"\n", COND_PROCEED },
	{ "if-none-match: \"x\"abc\"\n", COND_PROCEED },
	{ "if-none-match: W/\n", COND_PROCEED },
	{ "if-none-match: \"\n", COND_PROCEED },
	{ "if-none-match: \n", COND_PROCEED },
	{ "if-none-match: *, \"x\"\n", COND_PROCEED },

	{ "if-match: \"abc\"\n", COND_PROCEED },
	{ "if-match: *\n", COND_PROCEED },
	{ "if-match: \"x\", \"abc\"\n", COND_PROCEED },
	{ "if-match: W/\"abc\"\n", COND_FAILED },
	{ "if-match: W/\"abc\", \"abc\"\n", COND_PROCEED },
	{ "if-match: \"x\"\n", COND_FAILED },
	{ "if-match: abc\n", COND_FAILED },
	{ "if-match: \n", COND_FAILED },

	{ "if-modified-since: " SAME "\n", COND_NOT_MODIFIED },
	{ "if-modified-since: " LATER "\n", COND_NOT_MODIFIED },
	{ "if-modified-since: " EARLIER "\n", COND_PROCEED },
	{ "if-modified-since: Sunday, 06-Nov-94 08:49:37 GMT\n", COND_NOT_MODIFIED },
	{ "if-modified-since: Sun Nov  6 08:49:37 1994\n", COND_NOT_MODIFIED },
	{ "if-modified-since: Fri, 31 Dec 9999 23:59:59 GMT\n", COND_NOT_MODIFIED },
	{ "if-modified-since: yesterday\n", COND_PROCEED },
	{ "if-modified-since: 0\n", COND_PROCEED },
	{ "if-modified-since: " SAME "\nif-modified-since: " SAME "\n", COND_PROCEED },

	{ "if-unmodified-since: " SAME "\n", COND_PROCEED },
	{ "if-unmodified-since: " LATER "\n", COND_PROCEED },
	{ "if-unmodified-since: " EARLIER "\n", COND_FAILED },
	{ "if-unmodified-since: never\n", COND_PROCEED },
	{ "if-unmodified-since: " EARLIER "\nif-unmodified-since: " EARLIER "\n", COND_PROCEED },

	/* RFC 9110, 13.2.2: tags before dates, preconditions before caches */
	{ "if-match: \"abc\"\nif-unmodified-since: " EARLIER "\n", COND_PROCEED },
	{ "if-match: \"x\"\nif-unmodified-since: " LATER "\n", COND_FAILED },
	{ "if-none-match: \"x\"\nif-modified-since: " SAME "\n", COND_PROCEED },
	{ "if-none-match: \"abc\"\nif-modified-since: " EARLIER "\n", COND_NOT_MODIFIED },
	{ "if-none-match: \"abc\"\nif-match: \"x\"\n", COND_FAILED },
	{ "if-none-match: \"abc\"\nif-match: \"abc\"\n", COND_NOT_MODIFIED },
	{ "if-modified-since: " SAME "\nif-unmodified-since: " SAME "\n", COND_NOT_MODIFIED },
	{ "if-modified-since: " SAME "\nif-unmodified-since: " EARLIER "\n", COND_FAILED },
	{ "if-modified-since: " SAME "\nif-match: *\n", COND_NOT_MODIFIED },
};

static unsigned split(const char *text, struct field *fields)
{
	unsigned n = 0;

	while (*text != '\0') {
		const char *colon = strchr(text, ':'), *end = strchr(text, '\n');

		fields[n].name = slice_of(text, (size_t)(colon - text));
		fields[n++].value = slice_of(colon + 2, (size_t)(end - colon - 2));
		text = end + 1;
	}
	return n;
}

static enum cond_result check(
	const struct field *fields, unsigned n, const struct cond_validators *v)
{
	return cond_check(fields, n, cond_fields(fields, n), v, NOW);
}

TEST_ROWS(test_case, cases)
{
	const struct cond_validators v = { SLICE_LIT("\"abc\""), MODIFIED };
	struct field fields[8];
	unsigned n = split(cases[_i].fields, fields);

	ck_assert_msg(check(fields, n, &v) == cases[_i].result, "%s", cases[_i].fields);
}

TEST(test_seen)
{
	static const struct {
		const char *name;
		unsigned bit;
	} names[] = {
		{ "if-match", COND_IF_MATCH },
		{ "if-none-match", COND_IF_NONE_MATCH },
		{ "if-modified-since", COND_IF_MODIFIED_SINCE },
		{ "if-unmodified-since", COND_IF_UNMODIFIED_SINCE },
		{ "if-range", COND_IF_RANGE },
		{ "range", COND_RANGE },
		{ "accept-encoding", COND_ACCEPT_ENCODING },
	};
	struct field fields[8] = { { SLICE_LIT("accept"), SLICE_LIT("*/*") } };
	unsigned all = 0;

	ck_assert_uint_eq(cond_fields(fields, 1), 0);
	for (unsigned i = 0; i < 7; i++) {
		char longer[32];

		fields[1 + i].name = slice_str(names[i].name);
		all |= names[i].bit;
		ck_assert_uint_eq(cond_fields(fields, 2 + i), all);
		ck_assert_uint_eq(cond_fields(&fields[1 + i], 1), names[i].bit);
		/* Neither what is longer nor what is shorter. */
		snprintf(longer, sizeof(longer), "%sx", names[i].name);
		ck_assert_uint_eq(cond_fields(&(struct field){ .name = slice_str(longer) }, 1), 0);
		for (size_t n = 0; n < strlen(names[i].name); n++)
			ck_assert_uint_eq(
				cond_fields(&(struct field){ .name = slice_of(longer, n) }, 1), 0);
	}
}

#define RANGE "range: bytes=1-2\n"

/* Whether the range counts; the representation is that of the cases above. */
static const struct {
	const char *fields;
	bool heeded;
} ranges[] = {
	{ "", false },
	{ "if-range: \"abc\"\n", false },
	{ RANGE, true },
	{ RANGE "if-range: \"abc\"\n", true },
	{ "if-range: \"abc\"\n" RANGE, true },
	{ RANGE "if-range: W/\"abc\"\n", false },
	{ RANGE "if-range: \"x\"\n", false },
	{ RANGE "if-range: *\n", false },
	{ RANGE "if-range: abc\n", false },
	{ RANGE "if-range: \n", false },
	{ RANGE "if-range: \"abc\n", false },
	{ RANGE "if-range: \"x\", \"abc\"\n", false },
	{ RANGE "if-range: \"abc\", \"x\"\n", false },
	{ RANGE "if-range: \"abc\",\n", false },
	{ RANGE "if-range: ,\"abc\"\n", false },
	{ RANGE "if-range: \"abc\"\nif-range: \"abc\"\n", false },
	/* exactly that date (RFC 9110, 13.1.5) */
	{ RANGE "if-range: " SAME "\n", true },
	{ RANGE "if-range: Sunday, 06-Nov-94 08:49:37 GMT\n", true },
	{ RANGE "if-range: " LATER "\n", false },
	{ RANGE "if-range: " EARLIER "\n", false },
	{ RANGE "if-range: never\n", false },
	{ RANGE RANGE, false },
};

TEST_ROWS(test_range, ranges)
{
	const struct cond_validators v = { SLICE_LIT("\"abc\""), MODIFIED };
	struct field fields[8];
	unsigned n = split(ranges[_i].fields, fields), seen = cond_fields(fields, n);
	struct slice range = cond_range(fields, n, seen, &v, NOW);

	ck_assert_msg((range.n > 0) == ranges[_i].heeded, "%s", ranges[_i].fields);
	if (range.n > 0)
		ck_assert(slice_eq(range, SLICE("bytes=1-2")));
}

/* RFC 9110, 8.8.3.2: a representation whose tag is weak. */
TEST(test_weak)
{
	const struct cond_validators v = { SLICE_LIT("W/\"abc\""), MODIFIED };
	static const struct {
		const char *fields;
		enum cond_result result, change;
		bool heeded;
	} weak[] = {
		{ RANGE, COND_PROCEED, COND_PROCEED, true },
		{ RANGE "if-none-match: \"abc\"\n", COND_NOT_MODIFIED, COND_FAILED, true },
		{ RANGE "if-none-match: W/\"abc\"\n", COND_NOT_MODIFIED, COND_FAILED, true },
		{ RANGE "if-none-match: \"x\"\n", COND_PROCEED, COND_PROCEED, true },
		{ RANGE "if-match: \"abc\"\n", COND_FAILED, COND_FAILED, true },
		{ RANGE "if-match: W/\"abc\"\n", COND_FAILED, COND_FAILED, true },
		{ RANGE "if-match: *\n", COND_PROCEED, COND_PROCEED, true },
		{ RANGE "if-range: \"abc\"\n", COND_PROCEED, COND_PROCEED, false },
		{ RANGE "if-range: W/\"abc\"\n", COND_PROCEED, COND_PROCEED, false },
	};

	for (size_t i = 0; i < sizeof(weak) / sizeof(weak[0]); i++) {
		struct field fields[8];
		unsigned n = split(weak[i].fields, fields), seen = cond_fields(fields, n);

		ck_assert_msg(check(fields, n, &v) == weak[i].result, "%s", weak[i].fields);
		ck_assert_msg(cond_check_change(fields, n, seen, &v, NOW) == weak[i].change, "%s",
			weak[i].fields);
		ck_assert_msg((cond_range(fields, n, seen, &v, NOW).n > 0) == weak[i].heeded, "%s",
			weak[i].fields);
	}
}

/* RFC 9110, 8.8.2.2: within its second a date is a weak validator. */
TEST(test_range_weak_date)
{
	const struct cond_validators v = { SLICE_LIT("\"abc\""), MODIFIED };
	struct field fields[8];
	unsigned n = split(RANGE "if-range: " SAME "\n", fields), seen = cond_fields(fields, n);

	ck_assert_uint_eq(cond_range(fields, n, seen, &v, MODIFIED).n, 0);
	ck_assert_uint_gt(cond_range(fields, n, seen, &v, MODIFIED + 1).n, 0);
}

/* A file without a tag: neither "" nor a tag of nothing is its own. */
TEST(test_range_no_tag)
{
	const struct cond_validators v = { .last_modified = MODIFIED };
	struct field fields[8];
	unsigned n = split(RANGE "if-range: \"\"\n", fields), seen = cond_fields(fields, n);

	ck_assert_uint_eq(cond_range(fields, n, seen, &v, NOW).n, 0);
}

/* For PUT and DELETE: what is there has the tag "abc"; or nothing is there. */
static const struct {
	const char *fields;
	enum cond_result there, missing;
} changes[] = {
#define GOES  COND_PROCEED
#define FAILS COND_FAILED
	{ "", GOES, GOES },
	{ "if-match: \"abc\"\n", GOES, FAILS },
	{ "if-match: \"x\", \"abc\"\n", GOES, FAILS },
	{ "if-match: \"x\"\nif-match: \"abc\"\n", GOES, FAILS },
	{ "if-match: *\n", GOES, FAILS },
	{ "if-match: \"x\"\n", FAILS, FAILS },
	{ "if-match: W/\"abc\"\n", FAILS, FAILS }, /* strong comparison */
	{ "if-match: abc\n", FAILS, FAILS },
	{ "if-match: \n", FAILS, FAILS },
	{ "if-match: \"\"\n", FAILS, FAILS },

	{ "if-none-match: *\n", FAILS, GOES },
	{ "if-none-match: \"abc\"\n", FAILS, GOES },
	{ "if-none-match: W/\"abc\"\n", FAILS, GOES }, /* weak comparison */
	{ "if-none-match: \"x\", \"abc\"\n", FAILS, GOES },
	{ "if-none-match: \"x\"\n", GOES, GOES },
	{ "if-none-match: \"x\", W/\"y\",\n", GOES, GOES },
	{ "if-none-match: \"x\"\nif-none-match: *\n", FAILS, GOES },
	/* It asked to be guarded, and cannot be. */
	{ "if-none-match: \n", FAILS, FAILS },
	{ "if-none-match: ,\n", FAILS, FAILS },
	{ "if-none-match: x\n", FAILS, FAILS },
	{ "if-none-match: abc\n", FAILS, FAILS },
	{ "if-none-match: \"x\" y\n", FAILS, FAILS },
	{ "if-none-match: \"x\", *\n", FAILS, FAILS },
	{ "if-none-match: \"x\", W/\n", FAILS, FAILS },
	{ "if-none-match: \"x\", \"\n", FAILS, FAILS },
	{ "if-none-match: \"x\"\nif-none-match: y\n", FAILS, FAILS },

	{ "if-unmodified-since: " SAME "\n", GOES, GOES },
	{ "if-unmodified-since: " EARLIER "\n", FAILS, GOES },
	{ "if-unmodified-since: " LATER "\n", GOES, GOES },
	{ "if-unmodified-since: never\n", GOES, GOES },
	/* RFC 9110, 13.1.3: for GET and HEAD alone */
	{ "if-modified-since: " SAME "\n", GOES, GOES },
	{ "if-range: \"x\"\nrange: bytes=0-1\n", GOES, GOES },

	{ "if-match: \"abc\"\nif-unmodified-since: " EARLIER "\n", GOES, FAILS },
	{ "if-match: \"abc\"\nif-none-match: \"x\"\n", GOES, FAILS },
	{ "if-match: \"abc\"\nif-none-match: *\n", FAILS, FAILS },
	{ "if-unmodified-since: " LATER "\nif-none-match: *\n", FAILS, GOES },
};

TEST_ROWS(test_change, changes)
{
	const struct cond_validators v = { SLICE_LIT("\"abc\""), MODIFIED };
	struct field fields[8];
	unsigned n = split(changes[_i].fields, fields), seen = cond_fields(fields, n);

	ck_assert_msg(cond_check_change(fields, n, seen, &v, NOW) == changes[_i].there, "%s",
		changes[_i].fields);
	ck_assert_msg(cond_check_change(fields, n, seen, NULL, NOW) == changes[_i].missing, "%s",
		changes[_i].fields);
}

/* Without a tag only "*" can match. */
TEST(test_no_tag)
{
	const struct cond_validators v = { .last_modified = MODIFIED };
	struct field fields[8];
	unsigned n;

	ck_assert_int_eq(check(fields, split("if-none-match: \"\"\n", fields), &v), COND_PROCEED);
	ck_assert_int_eq(check(fields, split("if-none-match: *\n", fields), &v), COND_NOT_MODIFIED);
	ck_assert_int_eq(check(fields, split("if-match: \"\"\n", fields), &v), COND_FAILED);
	n = split("if-match: *\n", fields);
	ck_assert_int_eq(cond_check_change(fields, n, COND_IF_MATCH, &v, NOW), COND_PROCEED);
	n = split("if-none-match: *\n", fields);
	ck_assert_int_eq(cond_check_change(fields, n, COND_IF_NONE_MATCH, &v, NOW), COND_FAILED);
}
