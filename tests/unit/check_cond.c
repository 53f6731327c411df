/* check_cond: each condition alone, their precedence, lists over several fields, the ignored. */
#include "http/cond.h"

#include <stdio.h>

#include "unit.h"

enum { MODIFIED = 784111777, NOW = 1795255872 };

#define SAME "Sun, 06 Nov 1994 08:49:37 GMT"
#define EARLIER "Sun, 06 Nov 1994 08:49:36 GMT"
#define LATER "Sun, 06 Nov 1994 08:49:38 GMT"

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

START_TEST(test_case)
{
	const struct cond_validators v = { SLICE_LIT("\"abc\""), MODIFIED };
	struct field fields[8];
	unsigned n = split(cases[_i].fields, fields);

	ck_assert_msg(cond_check(fields, n, &v, NOW) == cases[_i].result, "%s", cases[_i].fields);
}
END_TEST

/* Without a tag only "*" can match. */
START_TEST(test_no_tag)
{
	const struct cond_validators v = { .last_modified = MODIFIED };
	struct field fields[8];

	ck_assert_int_eq(cond_check(fields, split("if-none-match: \"\"\n", fields), &v, NOW),
		COND_PROCEED);
	ck_assert_int_eq(cond_check(fields, split("if-none-match: *\n", fields), &v, NOW),
		COND_NOT_MODIFIED);
	ck_assert_int_eq(cond_check(fields, split("if-match: \"\"\n", fields), &v, NOW),
		COND_FAILED);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("cond");

	tcase_add_loop_test(tc, test_case, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tc, test_no_tag);
	return tc;
}

UNIT_MAIN("cond")
