/* check_json_out: brackets, names and commas are where they belong, and text is escaped. */
#include "base/json_out.h"

#include "unit.h"

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

UNIT_MAIN("json_out")
