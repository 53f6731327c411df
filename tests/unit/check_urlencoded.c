/* check_urlencoded: pairs of names and values, decoded in place. */
#include "http/urlencoded.h"

#include "unit_pure.h"

static const struct {
	const char *in, *out; /* out: "name=value|" of each pair */
} texts[] = {
	{ "", "" },
	{ "a=1", "a=1|" },
	{ "a=1&b=2", "a=1|b=2|" },
	{ "a=1&a=2", "a=1|a=2|" },
	{ "a", "a=|" },
	{ "a&b=&=c&=", "a=|b=|=c|=|" },
	{ "&&a=1&&&b=2&", "a=1|b=2|" },
	{ "a=b=c", "a=b=c|" },
	{ "a+b=c+d", "a b=c d|" },
	{ "%61=%2b%26%3D%3d&%3d=%26", "a=+&==|==&|" },
	{ "n%c3%a9=%e2%82%ac", "n\303\251=\342\202\254|" },
	{ "a=%&b=%4&c=%zz&d=%4%41", "a=%|b=%4|c=%zz|d=%4A|" },
	{ "a=%2&41", "a=%2|41=|" }, /* an escape does not reach over */
	{ "a=\"1;2\"", "a=\"1;2\"|" },
};

TEST_ROWS(a_text, texts)
{
	size_t n = strlen(texts[_i].in), count = urlencoded_count(slice_str(texts[_i].in));
	char *p = malloc(n + 1), out[200] = "";
	struct field *pairs = malloc((count + 1) * sizeof(*pairs));

	ck_assert(p != NULL && pairs != NULL);
	memcpy(p, texts[_i].in, n);
	p[n] = 'x';
	urlencoded_decode(p, n, pairs);
	for (size_t i = 0; i < count; i++) {
		strcat(strcat(out, pairs[i].name.p), "=");
		strcat(strcat(out, pairs[i].value.p), "|");
		ck_assert_uint_eq(strlen(pairs[i].name.p), pairs[i].name.n);
		ck_assert_uint_eq(strlen(pairs[i].value.p), pairs[i].value.n);
	}
	ck_assert_str_eq(out, texts[_i].out);
	free(p);
	free(pairs);
}

TEST(bytes_of_any_value)
{
	char text[] = "%00=a%00b";
	struct field pair;

	ck_assert_uint_eq(urlencoded_count(slice_str(text)), 1);
	urlencoded_decode(text, strlen(text), &pair);
	ck_assert(slice_eq(pair.name, slice_of("", 1)));
	ck_assert(slice_eq(pair.value, slice_of("a\0b", 3)));
}
