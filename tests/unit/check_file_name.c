/* check_file_name: names that may be, and names that must not, rule by rule and at its edges. */
#include "http/upload.h"

#include "unit.h"

#define A64  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A252 A64 A64 A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	struct slice name;
	const char *err;
} cases[] = {
#define GOOD(name) \
	{ \
		SLICE_LIT(name), NULL \
	}
#define BAD(name, err) \
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

	BAD("", "EMPTY"),
	BAD(A252 "aaaa", "LONG"),
	BAD(A252 "a\xe2\x82\xac", "LONG"),
	BAD("." A252 "aaa", "LONG"),

	BAD(".", "DOT"),
	BAD("..", "DOT"),
	BAD("...", "DOT"),
	BAD(".htaccess", "DOT"),
	BAD(".well-known", "DOT"),
	BAD("../a", "DOT"),
	BAD("..\\a", "DOT"),
	BAD(".\0", "DOT"),

	BAD("/", "SLASH"),
	BAD("/etc/passwd", "SLASH"),
	BAD("a/", "SLASH"),
	BAD("a/../b", "SLASH"),
	BAD("a/b", "SLASH"),
	BAD("\\", "SLASH"),
	BAD("C:\\dir\\x", "SLASH"),
	BAD("\\\\host\\share", "SLASH"),
	BAD("a\\..\\..\\b", "SLASH"),
	BAD("a\0/b", "SLASH"),

	BAD("\x80", "UTF8"),
	BAD("a\xff", "UTF8"),
	BAD("\xe4.txt", "UTF8"),
	BAD("a\xc3", "UTF8"),
	BAD("\xe2\x82", "UTF8"),
	BAD("\xc0\xae\xc0\xae", "UTF8"), /* ".." too long */
	BAD("\xc0\xaf", "UTF8"),         /* "/" too long */
	BAD("\xe0\x80\xaf", "UTF8"),
	BAD("\xf0\x80\x80\xaf", "UTF8"),
	BAD("\xc0\x80", "UTF8"), /* NUL too long */
	BAD("\xc1\xbf", "UTF8"),
	BAD("\xed\xa0\x80", "UTF8"), /* surrogates */
	BAD("\xed\xbf\xbf", "UTF8"),
	BAD("\xf4\x90\x80\x80", "UTF8"), /* above U+10FFFF */
	BAD("\xf8\x88\x80\x80\x80", "UTF8"),
	BAD("a\n\xff", "UTF8"),

	BAD("\0", "CONTROL"),
	BAD("a\0", "CONTROL"),
	BAD("a.php\0.txt", "CONTROL"),
	BAD("a\tb", "CONTROL"),
	BAD("a\r\nb", "CONTROL"),
	BAD("\x1b[2J", "CONTROL"),
	BAD("a\x1f", "CONTROL"),
	BAD("a\x7f", "CONTROL"),
	BAD("\xc2\x80", "CONTROL"),
	BAD("a\xc2\x85", "CONTROL"),
	BAD("\xc2\x9f", "CONTROL"),
	BAD("a\xe2\x80\xa8"
	    "b",
		"CONTROL"),
	BAD("a\xe2\x80\xa9"
	    "b",
		"CONTROL"),
	BAD("\xe2\x80\xae\x01", "CONTROL"),
	BAD("\x01\xe2\x80\xae", "CONTROL"),

	BAD("\xe2\x80\xaa", "DIRECTION"),
	BAD("cod\xe2\x80\xae"
	    "exe.doc",
		"DIRECTION"),
	BAD("a\xe2\x80\xab"
	    "b\xe2\x80\xac",
		"DIRECTION"),
	BAD("\xe2\x80\xad", "DIRECTION"),
	BAD("\xe2\x81\xa6", "DIRECTION"),
	BAD("a\xe2\x81\xa9", "DIRECTION"),
};

TEST_ROWS(test_case, cases)
{
	const struct slice in = cases[_i].name;
	char *name = malloc(in.n);
	const struct err *err;

	if (in.n > 0)
		memcpy(name, in.p, in.n);
	err = file_name_check(slice_of(name, in.n));
	ck_assert_msg((err == NULL) == (cases[_i].err == NULL), "%.*s: %s", SLICE_ARG(in),
		err != NULL ? err->name : "taken");
	if (err != NULL)
		ck_assert_str_eq(err->name, cases[_i].err);
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

UNIT_MAIN_PURE("file_name")
