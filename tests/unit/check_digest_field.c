/* check_digest_field: the digests of "abc" (FIPS 180-4), well and badly written. */
#include "http/upload.h"

#include "http/base64.h"
#include "unit.h"

#define S256 "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
#define S512 \
	"3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
/* of nothing */
#define E256 "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

enum { NEITHER = 0, HAS_256 = 1, HAS_512 = 2, BOTH = 3, OTHER_256 = 4, BAD = 8 };

static const struct {
	const char *line, *more; /* NULL: there is one line alone */
	unsigned result;
} cases[] = {
	{ "sha-256=:" S256 ":", NULL, HAS_256 },
	{ "sha-512=:" S512 ":", NULL, HAS_512 },
	{ "sha-256=:" S256 ":, sha-512=:" S512 ":", NULL, BOTH },
	{ "sha-512=:" S512 ":,sha-256=:" S256 ":", NULL, BOTH },
	{ "sha-512=:" S512 ":\t ,\t sha-256=:" S256 ":", NULL, BOTH },
	{ "sha-256=:" S256 ":", "sha-512=:" S512 ":", BOTH },
	{ "sha-256=:" S256 ":", "", HAS_256 },
	{ "", NULL, NEITHER },
	{ "  ", NULL, NEITHER },
	{ " sha-256=:" S256 ": ", NULL, HAS_256 },
	/* Padding may be missing (RFC 9651, 4.2.7). */
	{ "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0:", NULL, HAS_256 },
	/* The last of two counts. */
	{ "sha-256=:" E256 ":, sha-256=:" S256 ":", NULL, HAS_256 },
	{ "sha-256=:" S256 ":, sha-256=:" E256 ":", NULL, OTHER_256 },
	{ "sha-256=:" S256 ":", "sha-256=:" E256 ":", OTHER_256 },
	/* Others are passed over, whatever they say. */
	{ "md5=:kAFQmDzST7DWlj99KOF/cg==:", NULL, NEITHER },
	{ "md5=:kAFQmDzST7DWlj99KOF/cg==:, sha-256=:" S256 ":", NULL, HAS_256 },
	{ "sha-256=:" S256 ":, unixsum=:AA==:, a=1, b=-2.5, c=\"x, \\\"y\\\\\", d=t/k:1", NULL,
		HAS_256 },
	{ "a=?1, b=@1659578233, c=%\"f%c3%bc\", sha-256=:" S256 ":", NULL, HAS_256 },
	{ "*=:AA==:, a_b-c.d*1=:::", NULL, BAD },
	{ "*=:AA==:, a_b-c.d*1=::", NULL, NEITHER },
	{ "sha-2560=:" E256 ":", NULL, NEITHER },
	{ "sha-25=:" E256 ":", NULL, NEITHER },
	{ "sha=1", NULL, NEITHER },
	/* Parameters mean nothing. */
	{ "sha-256=:" S256 ":;a;b=1;c=\"x;y\"; *d=:AA==:", NULL, HAS_256 },
	{ "md5=1;a, sha-256=:" S256 ":", NULL, HAS_256 },

	{ "sha-256", NULL, BAD },
	{ "sha-256=", NULL, BAD },
	{ "sha-256=" S256, NULL, BAD },
	{ "sha-256=\"" S256 "\"", NULL, BAD },
	{ "sha-256=:" S256, NULL, BAD },
	{ "sha-256=::", NULL, BAD },
	{ "sha-256=:=:", NULL, BAD },
	{ "sha-256=:====:", NULL, BAD },
	{ "sha-256=: " S256 ":", NULL, BAD },
	{ "sha-256= :" S256 ":", NULL, BAD },
	{ "sha-256 =:" S256 ":", NULL, BAD },
	{ "SHA-256=:" S256 ":", NULL, BAD },
	{ "sha-256=:" S512 ":", NULL, BAD },
	{ "sha-512=:" S256 ":", NULL, BAD },
	{ "sha-256=:" S256 S256 S256 ":", NULL, BAD },
	{ "sha-512=:" S512 S512 ":", NULL, BAD },
	{ "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa:", NULL, BAD },
	{ "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=:", NULL,
		BAD }, /* a bit too many */
	{ "sha-256=:ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=:", NULL, BAD },
	{ "sha-256=?1", NULL, BAD },
	{ "sha-256=(:" S256 ":)", NULL, BAD },
	{ "a=(1 2)", NULL, BAD },
	{ "a", NULL, BAD },
	{ "a=", NULL, BAD },
	{ "a=\"", NULL, BAD },
	{ "a=\"\\x\"", NULL, BAD },
	{ "a=\"\xc3\xa4\"", NULL, BAD },
	{ "a=%\"", NULL, BAD },
	{ "1a=1", NULL, BAD },
	{ "-a=1", NULL, BAD },
	{ "=1", NULL, BAD },
	{ "a=1 b=2", NULL, BAD },
	{ "a=1;", NULL, BAD },
	{ "a=1;b=", NULL, BAD },
	{ "a=1;B", NULL, BAD },
	{ "a=1 ;b", NULL, BAD },
	{ ",", NULL, BAD },
	{ "sha-256=:" S256 ":,", NULL, BAD },
	{ "sha-256=:" S256 ":, ", NULL, BAD },
	{ ", sha-256=:" S256 ":", NULL, BAD },
	{ "sha-256=:" S256 ":,,a=1", NULL, BAD },
	{ "sha-256=:" S256 ":", "x", BAD },
	{ "x", "sha-256=:" S256 ":", BAD },
	/* The older field of RFC 3230. */
	{ "SHA-256=" S256, NULL, BAD },
};

static void hash_of(const char *text, unsigned char *out, size_t size)
{
	char decoded[DIGEST_SIZE_MAX + 2];

	ck_assert_int_eq(base64_decode(slice_str(text), decoded), (ssize_t)size);
	memcpy(out, decoded, size);
}

TEST_ROWS(test_case, cases)
{
	struct field fields[4] = {
		{ SLICE_LIT("content-digest"), SLICE_LIT("x") },
		{ SLICE_LIT("repr-digest"), slice_str(cases[_i].line) },
		{ SLICE_LIT("repr-digests"), SLICE_LIT("x") },
		{ SLICE_LIT("repr-digest"), slice_str(cases[_i].more) },
	};
	unsigned result = cases[_i].result;
	unsigned char hash[DIGEST_ALGORITHMS][DIGEST_SIZE_MAX];
	struct digest_field d;
	const struct err *err;

	hash_of(S256, hash[DIGEST_SHA_256], 32);
	hash_of(S512, hash[DIGEST_SHA_512], 64);
	memset(&d, 0xa5, sizeof(d));
	err = digest_field_parse(fields, cases[_i].more != NULL ? 4 : 3, SLICE("repr-digest"), &d);
	ck_assert_msg((err != NULL) == (result == BAD), "%s", cases[_i].line);
	if (err != NULL)
		ck_assert_ptr_eq(err, ERR_DIGEST_FIELD);
	ck_assert(d.given[DIGEST_SHA_256] == ((result & (HAS_256 | OTHER_256)) != 0));
	ck_assert(d.given[DIGEST_SHA_512] == ((result & HAS_512) != 0));
	ck_assert_ptr_eq(digest_field_compare(&d, DIGEST_SHA_256, hash[DIGEST_SHA_256]),
		result == OTHER_256 ? ERR_DIGEST_WRONG : NULL);
	ck_assert_ptr_null(digest_field_compare(&d, DIGEST_SHA_512, hash[DIGEST_SHA_512]));
	/* The last byte counts. */
	hash[DIGEST_SHA_512][63] ^= 1;
	ck_assert_ptr_eq(digest_field_compare(&d, DIGEST_SHA_512, hash[DIGEST_SHA_512]),
		result & HAS_512 ? ERR_DIGEST_WRONG : NULL);
}

TEST(test_none)
{
	struct field field = { SLICE_LIT("content-digest"), SLICE_LIT("sha-256=:" S256 ":") };
	struct digest_field d;

	ck_assert_ptr_null(digest_field_parse(&field, 1, SLICE("repr-digest"), &d));
	ck_assert(!d.given[DIGEST_SHA_256] && !d.given[DIGEST_SHA_512]);
	ck_assert_ptr_null(digest_field_parse(&field, 1, SLICE("content-digest"), &d));
	ck_assert(d.given[DIGEST_SHA_256]);
}

static const struct {
	const char *line, *more;
	bool wanted;
} wants[] = {
	{ "sha-256=1", NULL, true },
	{ "sha-512=10", NULL, true },
	{ "sha-256=3, sha-512=0", NULL, true },
	{ " md5=10 , sha-256=1;a=\"b\" ", NULL, true },
	{ "md5", "sha-512=5", true },
	{ "oops=", "sha-256=5", true },
	{ "sha-256=0", NULL, false },
	{ "sha-256=-1", NULL, false },
	{ "sha-256=1.5", NULL, false },
	{ "sha-256", NULL, false },
	{ "sha-256=?1", NULL, false },
	{ "md5=10", NULL, false },
	{ "sha-2561=10", NULL, false },
	{ "sha-256=1,", NULL, false },
	{ "sha-256=1 md5=2", NULL, false },
	{ ",sha-256=1", NULL, false },
	{ "", NULL, false },
};

TEST_ROWS(test_wanted, wants)
{
	struct field fields[] = {
		{ SLICE_LIT("want-content-digest"), SLICE_LIT("sha-256=1") },
		{ SLICE_LIT("want-repr-digest"), slice_str(wants[_i].line) },
		{ SLICE_LIT("want-repr-digest"), slice_str(wants[_i].more) },
	};

	ck_assert(!digest_field_wanted(fields, 1));
	ck_assert_msg(
		digest_field_wanted(fields, wants[_i].more != NULL ? 3 : 2) == wants[_i].wanted,
		"%s", wants[_i].line);
}

TEST(test_write)
{
	unsigned char hash[DIGEST_SIZE_MAX];
	char out[DIGEST_FIELD_MAX];
	size_t n;

	hash_of(S256, hash, 32);
	n = digest_field_write(out, DIGEST_SHA_256, hash);
	ck_assert(slice_eq(slice_of(out, n), SLICE("sha-256=:" S256 ":")));
	hash_of(S512, hash, 64);
	n = digest_field_write(out, DIGEST_SHA_512, hash);
	ck_assert(slice_eq(slice_of(out, n), SLICE("sha-512=:" S512 ":")));
	ck_assert_uint_eq(n, DIGEST_FIELD_MAX);
}

UNIT_MAIN_PURE("digest_field")
