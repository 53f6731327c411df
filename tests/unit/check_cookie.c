/* check_cookie: one cookie out of a field of many. */
#include "http/field.h"

#include "unit_pure.h"

static const struct {
	const char *all, *name, *value; /* value NULL: there is none */
} fields[] = {
	{ "a=1", "a", "1" },
	{ "a=1; b=2; c=3", "b", "2" },
	{ "a=1; b=2; c=3", "c", "3" },
	{ "a=1;b=2", "b", "2" }, /* no space, as some send it */
	{ " a = 1 ;\tb = 2 ", "b", "2" },
	{ "a=1; a=2", "a", "1" }, /* the path that is more specific comes first */
	{ "a=b=c", "a", "b=c" },
	{ "a=", "a", "" },
	{ "a=\"x y\"", "a", "\"x y\"" },
	{ "a=%3b", "a", "%3b" },
	{ "aa=1; a=2", "a", "2" },
	{ "A=1", "a", NULL },
	{ "a", "a", NULL },
	{ "a; a=2", "a", "2" },
	{ "=a", "a", NULL },
	{ "x=a=1", "a", NULL },
	{ ";;;a=1;", "a", "1" },
	{ "", "a", NULL },
};

TEST_ROWS(a_field, fields)
{
	struct slice value = { 0 };
	bool found = field_cookie(slice_str(fields[_i].all), slice_str(fields[_i].name), &value);

	ck_assert_int_eq(found, fields[_i].value != NULL);
	if (found)
		ck_assert_msg(
			slice_eq(value, slice_str(fields[_i].value)), "%.*s", SLICE_ARG(value));
}
