/* check_accept: weights of two media types under accept fields, the malformed among them. */
#include "http/coding.h"
#include "unit.h"

/* Several fields are lines; NULL is no field at all. */
static const struct {
	const char *fields;
	int html, json;
} cases[] = {
	{ NULL, 1000, 1000 },
	{ "", 0, 0 },
	{ "*/*", 1000, 1000 },
	{ "text/html", 1000, 0 },
	{ "application/json", 0, 1000 },
	{ "Application/JSON", 0, 1000 },
	{ "application/json, */*;q=0.5", 500, 1000 },
	{ "*/*;q=0.5, application/json", 500, 1000 },
	{ "application/*", 0, 1000 },
	{ "application/*;q=0.3, application/json;q=0.2, */*;q=0.1", 100, 200 },
	{ "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", 1000, 800 },
	{ "application/json;q=0, */*", 1000, 0 },
	{ "application/json; charset=utf-8 ; q=0.4", 0, 400 },
	{ "application/json;q=0.4;ext=1", 0, 400 },
	{ "application/json;a=\"x;q=0.1,y\\\";q=0.2\";Q=0.7, text/html;q=0.6", 600, 700 },
	{ "text/html;q=0.1\napplication/json", 100, 1000 },
	{ "application/json;q=0.1, application/json;q=0.2", 0, 200 },

	{ "application/json;q=x, text/html;q=0.5", 500, 0 },
	{ "application/json;q=1.5", 0, 0 },
	{ "application/jso, pplication/json, application/json5, json, *, */json", 0, 0 },
	{ "application/, application, /, ;q=1, \"application/json\"", 0, 0 },
	{ "application/json;", 0, 1000 },
	{ "application/json;\"", 0, 1000 },
	{ "application/json;\"\\", 0, 1000 },
	{ "application/json;q", 0, 1000 },
};

TEST_ROWS(test_case, cases)
{
	const char *text = cases[_i].fields;
	struct field fields[8];
	unsigned n = 0;

	while (text != NULL) {
		size_t len = strcspn(text, "\n");

		fields[n++] = (struct field){ SLICE_LIT("accept-language"), SLICE_LIT("*/*") };
		fields[n++] = (struct field){ SLICE_LIT("accept"), { text, len } };
		text = text[len] != '\0' ? text + len + 1 : NULL;
	}
	ck_assert_int_eq(accept_weight(fields, n, SLICE("text/html")), cases[_i].html);
	ck_assert_int_eq(accept_weight(fields, n, SLICE("application/json")), cases[_i].json);
}

UNIT_MAIN_PURE("accept")
