/* check_field: lookup, what is legal in names and values, and lists cut at their commas. */
#include "http/field.h"

#include "unit_pure.h"

TEST(test_find)
{
	const struct field fields[] = {
		{ SLICE_LIT("host"), SLICE_LIT("a") },
		{ SLICE_LIT("accept"), SLICE_LIT("b") },
		{ SLICE_LIT("hosts"), SLICE_LIT("c") },
		{ SLICE_LIT("accept"), SLICE_LIT("d") },
	};

	ck_assert_ptr_eq(field_find(fields, 4, SLICE("host")), &fields[0]);
	ck_assert_ptr_eq(field_find(fields, 4, SLICE("accept")), &fields[1]);
	ck_assert_ptr_eq(field_find(fields, 4, SLICE("hosts")), &fields[2]);
	ck_assert_ptr_null(field_find(fields, 4, SLICE("hos")));
	ck_assert_ptr_null(field_find(fields, 4, SLICE("Host")));
	ck_assert_ptr_null(field_find(fields, 0, SLICE("host")));
	ck_assert_ptr_null(field_find(NULL, 0, SLICE("host")));
}

TEST(test_is_hop)
{
	ck_assert(field_is_hop(SLICE("te")));
	ck_assert(field_is_hop(SLICE("transfer-encoding")));
	ck_assert(!field_is_hop(SLICE("via")));
	ck_assert(!field_is_hop(SLICE("")));
}

TEST(test_among)
{
	ck_assert(field_among(SLICE("a"), "a bc"));
	ck_assert(field_among(SLICE("bc"), "a bc"));
	ck_assert(!field_among(SLICE("b"), "a bc"));
	ck_assert(!field_among(SLICE(""), "a bc"));
}

TEST(test_list_has)
{
	ck_assert(field_list_has(SLICE(" , a, No-Cache"), SLICE("no-cache")));
	ck_assert(!field_list_has(SLICE("a, \"no-cache\", b no-cache"), SLICE("no-cache")));
	ck_assert(!field_list_has(SLICE(""), SLICE("no-cache")));
}

/* Every byte alone and inside a word, against the grammar written out another way. */
TEST_EACH(test_name_bytes, 256)
{
	char c = (char)_i;
	char word[3] = { 'a', c, 'z' };
	bool legal = c != '\0' && strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz", c);

	ck_assert_int_eq(field_name_valid(slice_of(&c, 1)), legal);
	ck_assert_int_eq(field_name_valid(slice_of(word, 3)), legal);
	ck_assert(!field_name_valid(SLICE("")));
}

TEST_EACH(test_value_bytes, 256)
{
	unsigned char c = (unsigned char)_i;
	char word[3] = { 'a', (char)c, 'z' };
	bool visible = c > 0x20 && c != 0x7f;

	ck_assert_int_eq(field_value_valid(slice_of(word, 3)), visible || c == ' ' || c == '\t');
	ck_assert_int_eq(field_value_valid(slice_of(word + 1, 1)), visible);
	ck_assert_int_eq(field_value_valid(slice_of(word, 2)), visible);
	ck_assert_int_eq(field_value_valid(slice_of(word + 1, 2)), visible);
}

/* Each place of values of each length: bytes are looked at in sixteens. */
TEST_EACH(test_value_places, 256)
{
	unsigned char c = (unsigned char)_i;
	bool legal = (c >= 0x20 || c == '\t') && c != 0x7f;
	char value[36];

	for (size_t n = 3; n <= sizeof(value); n++)
		for (size_t i = 1; i + 1 < n; i++) {
			memset(value, 0x80 + (int)n, n);
			value[i] = (char)c;
			ck_assert_int_eq(field_value_valid(slice_of(value, n)), legal);
		}
}

TEST(test_value_empty)
{
	ck_assert(field_value_valid(SLICE("")));
	ck_assert(field_value_valid(slice_of(NULL, 0)));
}

/* elements: what is to come out, each between "<" and ">" */
static const struct {
	const char *list, *elements;
} lists[] = {
	{ "", "" },
	{ " \t ", "" },
	{ ",", "" },
	{ " , ,, ", "" },
	{ "a", "<a>" },
	{ "a,b", "<a><b>" },
	{ " a b ,\tc\t, ", "<a b><c>" },
	{ ",,a,,b,,", "<a><b>" },
	{ "\"a,b\", c", "<\"a,b\"><c>" },
	{ "x=\"a,b\";q=1, c", "<x=\"a,b\";q=1><c>" },
	{ "\"a\\\",b\", c", "<\"a\\\",b\"><c>" },
	{ "\"a\\\\\",b", "<\"a\\\\\"><b>" },
	{ "a\\,b", "<a\\><b>" },
	{ "\"open, a", "<\"open, a>" },
	{ "\"open\\", "<\"open\\>" },
	{ "a, \"", "<a><\">" },
};

TEST_ROWS(test_list, lists)
{
	struct slice rest = slice_str(lists[_i].list), element;
	char got[64] = "";
	size_t n = 0;

	while (field_list_next(&rest, &element))
		n += (size_t)snprintf(got + n, sizeof(got) - n, "<%.*s>", SLICE_ARG(element));
	ck_assert_str_eq(got, lists[_i].elements);
	ck_assert_uint_eq(rest.n, 0);
	ck_assert(!field_list_next(&rest, &element));
}

TEST(test_trim)
{
	ck_assert(slice_eq(field_trim(SLICE(" \t a \tb\t ")), SLICE("a \tb")));
	ck_assert(slice_eq(field_trim(SLICE("a")), SLICE("a")));
	ck_assert_uint_eq(field_trim(SLICE(" \t ")).n, 0);
	ck_assert_uint_eq(field_trim(SLICE("")).n, 0);
	/* No other white space counts. */
	ck_assert_uint_eq(field_trim(SLICE("\r\n")).n, 2);
}
