/* check_subject: rules, and the subjects that they let in. */
#include "rules/subject.h"

#include "unit.h"

static const struct {
	const char *rule, *subject;
	bool allowed;
} cases[] = {
	{ "CN=alice", "CN=alice", true },
	{ "CN=alice", NULL, false },
	{ "any", "CN=alice", true },
	{ "any", "", true },
	{ "any", NULL, false },
	{ "CN=any", "CN=alice", false },
	{ "CN=alice", "", false },
	{ "CN=alice", "CN=alice2", false },
	{ "CN=alice", "CN=Alice", false },
	{ "CN=alice", "CN=alice,O=Example,C=DE", true },
	{ "CN=alice", "O=Example,CN=alice", true },
	{ "CN=alice,O=Example", "CN=alice,OU=x,O=Example", true },
	{ "O=Example,CN=alice", "CN=alice,O=Example", true },
	{ "CN=alice,O=Example", "CN=alice", false },
	{ "CN=alice,O=Example", "CN=alice,O=Other", false },
	{ "CN=alice", "OU=CN=alice", false },
	/* A value that has a comma is one value. */
	{ "O=Example", "CN=x\\,O=Example", false },
	{ "CN=x", "CN=x\\,O=Example", false },
	{ "CN=x\\,O=Example", "CN=x\\,O=Example", true },
	{ "O=Example", "CN=x\\\\,O=Example", true },
	{ "O=Example", "CN=x\\", false },
	/* Two values of one part are one part. */
	{ "CN=alice", "CN=alice+UID=1", false },
	{ "CN=alice+UID=1", "CN=alice+UID=1,O=x", true },
	{ "CN=J\xc3\xbcrgen", "CN=J\\C3\\BCrgen", true },
	{ "CN=J\\C3\\BCrgen", "CN=J\\C3\\BCrgen", true },
	{ "2.5.4.5=#1303313233", "2.5.4.5=#1303313233,CN=x", true },
};

TEST_ROWS(allowed, cases)
{
	struct arena a;
	struct slice rule;

	arena_init(&a, NULL, 0, SIZE_MAX);
	ck_assert_ptr_null(subject_parse(cases[_i].rule, &a, &rule));
	ck_assert_int_eq(subjects_allow(&(struct subjects){ &rule, 1 }, cases[_i].subject),
		cases[_i].allowed);
	ck_assert(!subjects_allow(&(struct subjects){ &rule, 0 }, cases[_i].subject));
	arena_reset(&a);
}

static const char *const wrong[] = { "", "alice", "=alice", "CN=", "CN = alice", "CN= alice",
	"CN=alice ", "CN=alice, O=Example", "CN=alice,", ",CN=alice", "CN=alice,,O=x",
	"/CN=alice/O=Example", "*", "Any", "any,CN=alice" };

TEST_ROWS(refused, wrong)
{
	struct arena a;
	struct slice rule;

	arena_init(&a, NULL, 0, SIZE_MAX);
	ck_assert_ptr_nonnull(subject_parse(wrong[_i], &a, &rule));
	arena_reset(&a);
}

TEST(no_memory)
{
	struct arena a;
	struct slice rule;

	arena_init(&a, NULL, 0, 0);
	ck_assert_ptr_null(subject_parse("CN=alice", &a, &rule));
	ck_assert_ptr_null(rule.p);
	arena_reset(&a);
}
