/* check_upload: the digests of "abc" (FIPS 180-4), well and badly written; what clients say of
 * resumable uploads; names of files, rule by rule and at its edges. */
#include "http/upload.h"

#include "http/base64.h"
#include "unit_pure.h"

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

/* --- resumable uploads ------------------------------------------------------------------------ */

static struct upload_field parse_upload(const struct field *fields, unsigned n)
{
	struct upload_field u;

	memset(&u, 0xff, sizeof(u));
	upload_field_parse(fields, n, &u);
	return u;
}

static struct upload_field one_field(struct slice name, struct slice value)
{
	const struct field fields[] = { { SLICE_LIT("host"), SLICE_LIT("localhost") },
		{ name, value } };

	return parse_upload(fields, 2);
}

TEST(no_fields)
{
	struct upload_field u = parse_upload(NULL, 0);

	ck_assert(!u.has_complete && !u.complete && !u.has_offset && !u.has_length && !u.takes_104);
}

TEST(all_fields)
{
	const struct field fields[] = {
		{ SLICE_LIT("upload-complete"), SLICE_LIT("?1") },
		{ SLICE_LIT("upload-offset"), SLICE_LIT("100") },
		{ SLICE_LIT("upload-length"), SLICE_LIT("999999999999999;a") },
		{ SLICE_LIT("upload-draft-interop-version"), SLICE_LIT("8") },
	};
	struct upload_field u = parse_upload(fields, 4);

	ck_assert(u.has_complete && u.complete);
	ck_assert(u.has_offset && u.offset == 100);
	ck_assert(u.has_length && u.length == 999999999999999);
	ck_assert(u.takes_104);
}

/* Section 4.1: another value is ignored. */
TEST(ignored)
{
	ck_assert(one_field(SLICE("upload-complete"), SLICE("?0")).has_complete);
	ck_assert(!one_field(SLICE("upload-complete"), SLICE("?0")).complete);
	ck_assert(!one_field(SLICE("upload-complete"), SLICE("1")).has_complete);
	ck_assert(!one_field(SLICE("upload-complete"), SLICE("")).has_complete);
	ck_assert(!one_field(SLICE("upload-offset"), SLICE("-1")).has_offset);
	ck_assert(!one_field(SLICE("upload-offset"), SLICE("1.5")).has_offset);
	ck_assert(!one_field(SLICE("upload-offset"), SLICE("9999999999999999")).has_offset);
	ck_assert(!one_field(SLICE("upload-length"), SLICE("?1")).has_length);
	ck_assert(!one_field(SLICE("upload-draft-interop-version"), SLICE("7")).takes_104);
	ck_assert(!one_field(SLICE("upload-draft-interop-version"), SLICE("80")).takes_104);
	ck_assert(!one_field(SLICE("upload-draft-interop-version"), SLICE("\"8\"")).takes_104);
}

TEST(twice)
{
	const struct field fields[] = {
		{ SLICE_LIT("upload-complete"), SLICE_LIT("?1") },
		{ SLICE_LIT("upload-complete"), SLICE_LIT("?1") },
	};

	ck_assert(!parse_upload(fields, 2).has_complete);
}

TEST(media_type)
{
	ck_assert(upload_field_is_partial(SLICE("application/partial-upload")));
	ck_assert(upload_field_is_partial(SLICE("Application/Partial-Upload")));
	ck_assert(upload_field_is_partial(SLICE("application/partial-upload; a=b")));
	ck_assert(!upload_field_is_partial(SLICE("application/partial-uploads")));
	ck_assert(!upload_field_is_partial(SLICE("application/partial-upload/x")));
	ck_assert(!upload_field_is_partial(SLICE("application/partial")));
	ck_assert(!upload_field_is_partial(SLICE("application/octet-stream")));
	ck_assert(!upload_field_is_partial(SLICE("")));
}

/* --- names ------------------------------------------------------------------------------------ */

#define A64  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A252 A64 A64 A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	struct slice name;
	const char *err;
} names[] = {
#define GOOD(name) \
	{ \
		SLICE_LIT(name), NULL \
	}
#define NOT(name, err) \
	{ \
		SLICE_LIT(name), "FILE_NAME_" err \
	}

	GOOD("a"),
	GOOD("report.txt"),
	GOOD("a b"),
	GOOD(" "),
	GOOD(" a "),
	GOOD("a."),
	GOOD("a..b"),
	GOOD("~"),
	GOOD("-rf"),
	GOOD("CON"),
	GOOD("a:b|c?d*e<f>g"),
	GOOD("a\"b'c`d$e;f&g"),
	GOOD("%2e%2e%2fetc"),
	GOOD("%00"),
	GOOD("a;filename=b"),
	GOOD("index.html"),
	GOOD("a%"),
	GOOD("\xc2\xa0"),                             /* U+00A0 */
	GOOD("na\xc3\xafve"),                         /* composed */
	GOOD("nai\xcc\x88ve"),                        /* combining */
	GOOD("\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"),     /* Hebrew */
	GOOD("\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae"), /* Persian, with U+200C */
	GOOD("\xe6\x97\xa5\xe6\x9c\xac"),
	GOOD("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7"), /* emoji joined by U+200D */
	GOOD("\xe2\x80\x8ephoto"),                            /* U+200E, as messengers put it */
	GOOD("10.00\xe2\x80\xafPM"),                          /* U+202F, as macOS does */
	GOOD("\xe2\x80\xa7"),                                 /* U+2027 */
	GOOD("\xe2\x81\xa5"),                                 /* U+2065 */
	GOOD("\xe2\x81\xaa"),                                 /* U+206A */
	GOOD("\xe2\x80\xa6"),                                 /* U+2026, not two dots */
	GOOD("\xef\xbc\x8f"),                                 /* U+FF0F, which is no slash */
	GOOD("\xe2\x88\x95"),                                 /* U+2215, nor is this */
	GOOD("\xef\xbc\x8e\xef\xbc\x8e"),                     /* U+FF0E */
	GOOD("\xef\xbf\xbd"),                                 /* U+FFFD */
	GOOD("\xed\x9f\xbf"),                                 /* U+D7FF */
	GOOD("\xee\x80\x80"),                                 /* U+E000 */
	GOOD("\xf4\x8f\xbf\xbf"),                             /* U+10FFFF */
	GOOD(A252 "aaa"),
	GOOD(A252 "\xe2\x82\xac"),

	NOT("", "EMPTY"),
	NOT(A252 "aaaa", "LONG"),
	NOT(A252 "a\xe2\x82\xac", "LONG"),
	NOT("." A252 "aaa", "LONG"),

	NOT(".", "DOT"),
	NOT("..", "DOT"),
	NOT("...", "DOT"),
	NOT(".htaccess", "DOT"),
	NOT(".well-known", "DOT"),
	NOT("../a", "DOT"),
	NOT("..\\a", "DOT"),
	NOT(".\0", "DOT"),

	NOT("/", "SLASH"),
	NOT("/etc/passwd", "SLASH"),
	NOT("a/", "SLASH"),
	NOT("a/../b", "SLASH"),
	NOT("a/b", "SLASH"),
	NOT("\\", "SLASH"),
	NOT("C:\\dir\\x", "SLASH"),
	NOT("\\\\host\\share", "SLASH"),
	NOT("a\\..\\..\\b", "SLASH"),
	NOT("a\0/b", "SLASH"),

	NOT("\x80", "UTF8"),
	NOT("a\xff", "UTF8"),
	NOT("\xe4.txt", "UTF8"),
	NOT("a\xc3", "UTF8"),
	NOT("\xe2\x82", "UTF8"),
	NOT("\xc0\xae\xc0\xae", "UTF8"), /* ".." too long */
	NOT("\xc0\xaf", "UTF8"),         /* "/" too long */
	NOT("\xe0\x80\xaf", "UTF8"),
	NOT("\xf0\x80\x80\xaf", "UTF8"),
	NOT("\xc0\x80", "UTF8"), /* NUL too long */
	NOT("\xc1\xbf", "UTF8"),
	NOT("\xed\xa0\x80", "UTF8"), /* surrogates */
	NOT("\xed\xbf\xbf", "UTF8"),
	NOT("\xf4\x90\x80\x80", "UTF8"), /* above U+10FFFF */
	NOT("\xf8\x88\x80\x80\x80", "UTF8"),
	NOT("a\n\xff", "UTF8"),

	NOT("\0", "CONTROL"),
	NOT("a\0", "CONTROL"),
	NOT("a.php\0.txt", "CONTROL"),
	NOT("a\tb", "CONTROL"),
	NOT("a\r\nb", "CONTROL"),
	NOT("\x1b[2J", "CONTROL"),
	NOT("a\x1f", "CONTROL"),
	NOT("a\x7f", "CONTROL"),
	NOT("\xc2\x80", "CONTROL"),
	NOT("a\xc2\x85", "CONTROL"),
	NOT("\xc2\x9f", "CONTROL"),
	NOT("a\xe2\x80\xa8"
	    "b",
		"CONTROL"),
	NOT("a\xe2\x80\xa9"
	    "b",
		"CONTROL"),
	NOT("\xe2\x80\xae\x01", "CONTROL"),
	NOT("\x01\xe2\x80\xae", "CONTROL"),

	NOT("\xe2\x80\xaa", "DIRECTION"),
	NOT("cod\xe2\x80\xae"
	    "exe.doc",
		"DIRECTION"),
	NOT("a\xe2\x80\xab"
	    "b\xe2\x80\xac",
		"DIRECTION"),
	NOT("\xe2\x80\xad", "DIRECTION"),
	NOT("\xe2\x81\xa6", "DIRECTION"),
	NOT("a\xe2\x81\xa9", "DIRECTION"),
};

TEST_ROWS(test_name, names)
{
	const struct slice in = names[_i].name;
	char *name = malloc(in.n);
	const struct err *err;

	if (in.n > 0)
		memcpy(name, in.p, in.n);
	err = file_name_check(slice_of(name, in.n));
	ck_assert_msg((err == NULL) == (names[_i].err == NULL), "%.*s: %s", SLICE_ARG(in),
		err != NULL ? err->name : "taken");
	if (err != NULL)
		ck_assert_str_eq(err->name, names[_i].err);
	free(name);
}

/* Each byte alone. */
TEST(test_bytes)
{
	for (unsigned c = 0; c < 256; c++) {
		char byte = (char)c;
		bool good = c > 0x1f && c < 0x7f && c != '.' && c != '/' && c != '\\';

		ck_assert_msg((file_name_check(slice_of(&byte, 1)) == NULL) == good, "%#x", c);
	}
}

TEST(test_last)
{
	static const char *const ways[][2] = { { "a", "a" }, { "folder/one.txt", "one.txt" },
		{ "a/b/c", "c" }, { "C:\\dir\\x", "x" }, { "a\\b/c", "c" }, { "a/b\\c", "c" },
		{ "/etc/passwd", "passwd" }, { "folder/", "" }, { "a\\", "" }, { "a/..", ".." },
		{ "", "" } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		ck_assert_msg(
			slice_eq(file_name_last(slice_str(ways[i][0])), slice_str(ways[i][1])),
			"%s", ways[i][0]);
}
