/* check_h2_frames: what is found, whole and in pieces of every size. */
#include <string.h>

#include "proto/h2_guard.h"
#include "unit.h"

/* Four bytes of preface, then: SETTINGS of 6, DATA on 5, PRIORITY of 7 on 9, PRIORITY of 7 on
 * itself with the exclusive bit, a PRIORITY of a wrong length, DATA of none on 0x7fffffff with the
 * reserved bit. */
static const uint8_t bytes[] = "PRI\n"
			       "\0\0\6\4\0\0\0\0\0......"
			       "\0\0\3\0\1\0\0\0\5abc"
			       "\0\0\5\2\0\0\0\0\7\0\0\0\11w"
			       "\0\0\5\2\0\0\0\0\7\200\0\0\7w"
			       "\0\0\4\2\0\0\0\0\7\0\0\0\7"
			       "\0\0\0\0\0\377\377\377\377";

static const struct {
	enum h2_frames_found found;
	int32_t id;
	size_t at; /* bytes gone over until then */
} want[] = {
	{ H2_FRAMES_DATA, 5, 4 + 15 + 9 },
	{ H2_FRAMES_SELF, 7, 4 + 15 + 12 + 14 + 13 },
	{ H2_FRAMES_DATA, INT32_MAX, 4 + 15 + 12 + 14 + 14 + 13 + 9 },
};

TEST_RANGE(finds, 1, sizeof(bytes))
{
	size_t step = (size_t)_i, n = sizeof(bytes) - 1, done = 0;
	struct h2_frames s;
	unsigned found = 0;

	s = (struct h2_frames){ .skip = 4, .credit = 100 };
	while (done < n) {
		enum h2_frames_found f;
		int32_t id = 0;
		size_t k = n - done < step ? n - done : step, took;

		took = h2_frames_scan(&s, bytes + done, k, &f, &id);
		ck_assert_uint_gt(took, 0);
		done += took;
		if (f == H2_FRAMES_NOTHING) {
			ck_assert_uint_eq(took, k);
			continue;
		}
		ck_assert_uint_lt(found, sizeof(want) / sizeof(want[0]));
		ck_assert_int_eq(f, want[found].found);
		ck_assert_int_eq(id, want[found].id);
		ck_assert_uint_eq(done, want[found].at);
		found++;
	}
	ck_assert_uint_eq(found, sizeof(want) / sizeof(want[0]));
	ck_assert_uint_eq(s.skip, 0);
	ck_assert_uint_eq(s.have, 0);
	ck_assert_uint_eq(s.price, 2 * H2_GUARD_ANSWER + 3 * H2_GUARD_IDLE);
}

/* The scan goes no further than the credit. */
TEST(too_dear)
{
	struct h2_frames s = { .skip = 4, .credit = H2_GUARD_ANSWER - 1 };
	enum h2_frames_found f;
	int32_t id;

	ck_assert_uint_eq(h2_frames_scan(&s, bytes, sizeof(bytes) - 1, &f, &id), 4 + 9);
	ck_assert_int_eq(f, H2_FRAMES_DEAR);
}

UNIT_MAIN_PURE("h2_frames")
