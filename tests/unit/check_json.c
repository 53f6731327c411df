/* check_json: escapes of every byte, UTF-8 and what is none, cuts between characters; brackets,
 * names and commas are where they belong. */
#include "base/json.h"

#include "base/utf8.h"
#include "unit.h"

static const struct {
	const char *in, *out;
} cases[] = {
	{ "", "" },
	{ "plain /~ text", "plain /~ text" },
	{ "a\"b\\c", "a\\\"b\\\\c" },
	{ "\t\n\x1f\x7f", "\\u0009\\u000A\\u001F\\u007F" },
	{ "\u00e9\u65e5\U0001f4c1", "\u00e9\u65e5\U0001f4c1" },
	{ "\xff", "\ufffd" },
	{ "a\xc3", "a\ufffd" },
	{ "\xe6\x97x", "\ufffd\ufffdx" },
	{ "\xed\xa0\x80", "\ufffd\ufffd\ufffd" },
};

TEST_ROWS(escapes, cases)
{
	char out[100];
	size_t n = json_escape(out, slice_str(cases[_i].in));

	ck_assert_msg(slice_eq(slice_of(out, n), slice_str(cases[_i].out)), "%.*s is not %s",
		(int)n, out, cases[_i].out);
	ck_assert_uint_le(n, JSON_ESCAPED_MAX * strlen(cases[_i].in));
}

TEST(every_byte_fits)
{
	char out[JSON_ESCAPED_MAX];

	for (int c = 0; c < 256; c++) {
		char byte = (char)c;

		ck_assert_uint_le(json_escape(out, slice_of(&byte, 1)), sizeof(out));
	}
}

TEST(cuts)
{
	const struct slice s = SLICE("a\u00e9\U0001f4c1z"); /* 1, 2, 4 and 1 bytes */
	static const size_t ends[] = { 0, 1, 1, 3, 3, 3, 3, 7, 8, 8 };

	for (size_t max = 0; max < sizeof(ends) / sizeof(ends[0]); max++)
		ck_assert_uint_eq(utf8_cut(s, max).n, ends[max]);
	ck_assert_uint_eq(utf8_cut(SLICE("\x80\x80\x80\x80\x80\x80"), 5).n, 2);
}

TEST(a_length_that_wraps)
{
	struct strbuf t = { 0 };

	json_add(&t, slice_of("", SIZE_MAX / JSON_ESCAPED_MAX + 1));
	ck_assert(t.failed);
}

TEST(nested)
{
	struct strbuf t = { 0 };

	json_begin(&t, NULL, '{');
	json_text(&t, "a\"", "\n,{");
	json_begin(&t, "list", '[');
	json_unsigned(&t, NULL, UINT64_MAX);
	json_signed(&t, NULL, INT64_MIN);
	json_begin(&t, NULL, '{');
	json_end(&t, '}');
	json_begin(&t, NULL, '[');
	json_plain(&t, NULL, "null");
	json_end(&t, ']');
	json_end(&t, ']');
	json_plain(&t, "last", "true");
	json_end(&t, '}');
	strbuf_add(&t, slice_of("", 1));
	ck_assert_str_eq(t.p,
		"{\"a\\\"\":\"\\u000A,{\",\"list\":[18446744073709551615,-9223372036854775808,{},"
		"[null]],\"last\":true}");
	strbuf_fini(&t);
}
