/* check_reason: each status that h2d answers with has a name of its own. */
#include "http/reason.h"

#include <stdbool.h>

#include "unit_pure.h"

static bool has_own(int status)
{
	const char *reason = reason_of(status);

	return strcmp(reason, "Client Error") != 0 && strcmp(reason, "Server Error") != 0;
}

TEST(errors_of_peers)
{
#define ERR(name, status, ...) ck_assert_msg(status == 0 || has_own(status), #name);
#include "base/err.def"
}

TEST(names)
{
	ck_assert_str_eq(reason_of(100), "Continue");
	ck_assert_str_eq(reason_of(104), "Upload Resumption Supported");
	ck_assert_str_eq(reason_of(206), "Partial Content");
	ck_assert_str_eq(reason_of(404), "Not Found");
	ck_assert_str_eq(reason_of(410), "Gone");
	ck_assert_str_eq(reason_of(451), "Unavailable For Legal Reasons");
	ck_assert_str_eq(reason_of(507), "Insufficient Storage");
}

/* A handler may say what nobody has registered. */
TEST(classes)
{
	ck_assert_str_eq(reason_of(199), "Informational");
	ck_assert_str_eq(reason_of(299), "Successful");
	ck_assert_str_eq(reason_of(399), "Redirection");
	ck_assert_str_eq(reason_of(499), "Client Error");
	ck_assert_str_eq(reason_of(599), "Server Error");
}
