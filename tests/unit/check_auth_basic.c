/* check_auth_basic: the authorization field: what is decoded, what is refused, and that it is
 * wiped. */
#include "http/auth_basic.h"

#include "unit_pure.h"

static const struct {
	const char *value, *user, *password; /* user NULL: refused */
} values[] = {
	{ "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame" }, /* RFC 7617, 2 */
	{ "Basic dGVzdDoxMjPCow==", "test", "123\xc2\xa3" },                /* RFC 7617, 2.1 */
	{ "basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame" },
	{ "BASIC    YTpi", "a", "b" }, { "Basic YTpiOmM=", "a", "b:c" }, { "Basic Og==", "", "" },
	{ "Basic YTo=", "a", "" }, { "Basic OmI=", "", "b" },
	{ "Basic Pz8/Pj4+Og==", "?\?\?>>>", "" }, { "Basic fn5+Pz8/Pj4+Og==", "~~~?\?\?>>>", "" },
	{ "", NULL, NULL }, { "Basic", NULL, NULL }, { "Basic ", NULL, NULL },
	{ "Basic\tYTpi", NULL, NULL }, { "BasicYTpi", NULL, NULL }, { "Basics YTpi", NULL, NULL },
	{ "Bearer YTpi", NULL, NULL }, { "Basic YTpiOmM", NULL, NULL },      /* not padded */
	{ "Basic YTpiOmM==", NULL, NULL }, { "Basic YTpiOmN=", NULL, NULL }, /* bits left over */
	{ "Basic YTp=", NULL, NULL }, { "Basic Oh==", NULL, NULL },
	{ "Basic YTpi====", NULL, NULL }, { "Basic ====", NULL, NULL },
	{ "Basic Y===", NULL, NULL }, { "Basic YT=i", NULL, NULL },
	{ "Basic Og==Og==", NULL, NULL }, /* padding in the middle */
	{ "Basic YTpi YTpi", NULL, NULL }, { "Basic YTpi ", NULL, NULL },
	{ "Basic YTpi\n", NULL, NULL }, { "Basic YT-_", NULL, NULL }, /* base64url */
	{ "Basic YWJj", NULL, NULL },                                 /* "abc": no colon */
	{ "Basic YQA6Yg==", NULL, NULL },                             /* NUL in the user */
	{ "Basic YTpiAA==", NULL, NULL },                             /* … in the password */
	{ "Basic YQo6Yg==", NULL, NULL },                             /* line feed */
	{ "Basic YX86Yg==", NULL, NULL },                             /* DEL */
};

static struct auth_basic b;

static bool all_zero(void)
{
	static const struct auth_basic zero;

	return memcmp(&b, &zero, sizeof(b)) == 0;
}

TEST_ROWS(a_value, values)
{
	bool good = auth_basic_parse(slice_str(values[_i].value), &b);

	if (values[_i].user == NULL) {
		ck_assert_msg(!good, "%s", values[_i].value);
		ck_assert_uint_eq(b.user.n + b.password.n, 0);
		return;
	}
	ck_assert_msg(good, "%s", values[_i].value);
	ck_assert(slice_eq(b.user, slice_str(values[_i].user)));
	ck_assert(slice_eq(b.password, slice_str(values[_i].password)));
	ck_assert_uint_eq(strlen(b.password.p), b.password.n);
	auth_basic_wipe(&b);
	ck_assert(all_zero());
}

/* n bytes of "a…:"; base64 of three bytes "aaa" is "YWFh". */
static struct slice long_value(char *buf, unsigned n)
{
	strcpy(buf, "Basic Ojph"); /* "::a" */
	for (unsigned i = 3; i < n; i += 3)
		strcat(buf, "YWFh");
	return slice_str(buf);
}

TEST(the_longest)
{
	char buf[4096];

	ck_assert_uint_eq(AUTH_BASIC_MAX % 3, 0);
	ck_assert(auth_basic_parse(long_value(buf, AUTH_BASIC_MAX), &b));
	ck_assert_uint_eq(b.password.n, AUTH_BASIC_MAX - 1);
	ck_assert(!auth_basic_parse(long_value(buf, AUTH_BASIC_MAX + 3), &b));
	ck_assert(all_zero());
	ck_assert(!auth_basic_parse(long_value(buf, AUTH_BASIC_MAX + 300), &b));
	strcpy(buf + long_value(buf, AUTH_BASIC_MAX).n, "YQ==");
	ck_assert(!auth_basic_parse(slice_str(buf), &b));
	ck_assert(all_zero());
}

TEST(a_refused_one_is_wiped)
{
	ck_assert(!auth_basic_parse(SLICE("Basic c2VjcmV0c2VjcmV0"), &b));
	ck_assert(all_zero());
	ck_assert(!auth_basic_parse(SLICE("Basic c2VjcmV0OnNlY3JldA=="
					  "!!!!"),
		&b));
	ck_assert(all_zero());
}
