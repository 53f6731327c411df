/* check_base64: the vectors of RFC 4648, 10, what no encoder writes, and there and back. */
#include "http/base64.h"

#include "unit_pure.h"

static const struct {
	const char *bytes, *text;
} vectors[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

static const char *const bad[] = { "Z", "A", "AAAAA", "Zg=", "Z===", "=",
	"==", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm9vY", "Zm9v=", "Zm9v====", "Zm 9", "Zm9v\n",
	"Zm-v", "Zm_v", "Zg=g", "=Zg=", "Zm9\xc3", "Zm9*" };

TEST_ROWS(test_vector, vectors)
{
	struct slice text = slice_str(vectors[_i].text), bytes = slice_str(vectors[_i].bytes);
	char out[16];

	ck_assert_int_eq(base64_decode(text, out), (ssize_t)bytes.n);
	ck_assert(slice_eq(slice_of(out, bytes.n), bytes));
	/* Without padding. */
	while (text.n > 0 && text.p[text.n - 1] == '=')
		text.n--;
	ck_assert_int_eq(base64_decode(text, out), (ssize_t)bytes.n);
	ck_assert(slice_eq(slice_of(out, bytes.n), bytes));
	base64_encode(bytes.p, bytes.n, out);
	ck_assert(slice_eq(slice_of(out, BASE64_ENCODED(bytes.n)), slice_str(vectors[_i].text)));
}

TEST_ROWS(test_bad, bad)
{
	char out[16];

	ck_assert_msg(base64_decode(slice_str(bad[_i]), out) == -1, "%s", bad[_i]);
}

TEST(test_all_bytes)
{
	char bytes[256], text[BASE64_ENCODED(256)], out[BASE64_DECODED_MAX(BASE64_ENCODED(256))];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char)(i * 7);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		base64_encode(bytes, n, text);
		ck_assert_int_eq(base64_decode(slice_of(text, BASE64_ENCODED(n)), out), (ssize_t)n);
		ck_assert_int_eq(memcmp(out, bytes, n), 0);
	}
}
