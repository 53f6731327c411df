/* check_dav_if: the header If of WebDAV (RFC 4918, 10.4): whether it holds. */
#include "http/dav_if.h"

#include "unit.h"

/* The resource is /files/a with the entity tag "e". */
static const struct {
	const char *text;
	bool holds;
} values[] = {
	{ "([\"e\"])", true },
	{ " ( [\"e\"]\t) ", true },
	{ "([\"f\"])", false },
	{ "(Not [\"e\"])", false },
	{ "(not [\"f\"])", true },
	{ "([W/\"e\"])", false },
	{ "(<urn:uuid:1>)", false },
	{ "(Not <DAV:no-lock>)", true },
	{ "(<urn:uuid:1> [\"e\"])", false },
	{ "(<urn:uuid:1>) ([\"e\"])", true },
	{ "([\"e\"] [\"f\"])", false },
	{ "</files/a> ([\"e\"])", true },
	{ "<http://h:1/files/a> ([\"e\"])", true },
	{ "<http://h> ([\"e\"])", false },
	{ "</files/b> ([\"e\"])", false },
	{ "</files/b> (Not [\"f\"])", false },
	{ "</files/b> ([\"x\"]) </files/a> ([\"f\"])([\"e\"])", true },
	/* Malformed. */
	{ "", false },
	{ "()", false },
	{ "(", false },
	{ "[\"e\"]", false },
	{ "([\"e\"", false },
	{ "([\"e\"]", false },
	{ "(<urn)", false },
	{ "(<>)", false },
	{ "(Not)", false },
	{ "</files/a>", false },
	{ "<> ([\"e\"])", false },
	{ "([\"e\"]) x", false },
	{ "([\"e\"]) </files/a> ([\"e\"])", false },
};

TEST_ROWS(value, values)
{
	struct slice text = slice_str(values[_i].text), target = SLICE("/files/a");

	ck_assert_msg(dav_if_holds(text, target, SLICE("\"e\"")) == values[_i].holds, "%s",
		values[_i].text);
	/* A resource without a tag matches none. */
	if (strstr(values[_i].text, "ot") == NULL)
		ck_assert_msg(!dav_if_holds(text, target, SLICE("")), "%s", values[_i].text);
}
