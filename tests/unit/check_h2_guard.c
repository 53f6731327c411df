/* check_h2_guard: what acts cost, and how credit comes back. */
#include "proto/h2_guard.h"

#include "unit_pure.h"

enum { MOST = 5000, START_MS = 1000 };

static const struct {
	const char *what;
	uint8_t head[9];
	unsigned price;
} frames[] = {
	{ "DATA", { 0, 0, 32, 0, 0 }, 0 },
	{ "long DATA", { 1, 0, 0, 0, 0 }, 0 },
	{ "DATA of one byte", { 0, 0, 1, 0, 0 }, H2_GUARD_IDLE },
	{ "the last byte", { 0, 0, 1, 0, 1 }, 0 },
	{ "padded DATA", { 0, 1, 0, 0, 8 }, H2_GUARD_IDLE },
	{ "empty DATA", { 0, 0, 0, 0, 0 }, H2_GUARD_ANSWER },
	{ "an empty end", { 0, 0, 0, 0, 1 }, 0 },
	{ "HEADERS", { 0, 0, 9, 1, 4 }, 0 },
	{ "PRIORITY", { 0, 0, 5, 2, 0 }, H2_GUARD_IDLE },
	{ "RST_STREAM", { 0, 0, 4, 3, 0 }, 0 },
	{ "SETTINGS", { 0, 0, 6, 4, 0 }, H2_GUARD_ANSWER },
	{ "their acknowledgement", { 0, 0, 0, 4, 1 }, H2_GUARD_ANSWER },
	{ "PING", { 0, 0, 8, 6, 0 }, H2_GUARD_ANSWER },
	{ "WINDOW_UPDATE", { 0, 0, 4, 8, 0 }, H2_GUARD_IDLE },
	{ "CONTINUATION", { 0, 0, 4, 9, 0 }, 0 },
	{ "ALTSVC", { 0, 0, 4, 10, 0 }, H2_GUARD_IDLE },
	{ "PRIORITY_UPDATE", { 0, 0, 4, 16, 0 }, H2_GUARD_IDLE },
	{ "unknown", { 0, 0, 0, 176, 0 }, H2_GUARD_IDLE },
};

TEST_ROWS(prices, frames)
{
	ck_assert_msg(h2_guard_price(frames[_i].head) == frames[_i].price, "%s", frames[_i].what);
}

TEST(sections)
{
	ck_assert_uint_eq(h2_guard_section_price(0, 0), 0);
	ck_assert_uint_eq(h2_guard_section_price(8192, 0), 0);
	ck_assert_uint_eq(h2_guard_section_price(32768, 100), 23);
	ck_assert_uint_eq(h2_guard_section_price(32768, 24576), 0); /* paid by the wire */
}

TEST(credit)
{
	struct h2_guard g;

	h2_guard_open(&g, MOST, START_MS);
	h2_guard_take(&g, MOST);
	ck_assert(!h2_guard_overdrawn(&g));
	h2_guard_take(&g, 1);
	ck_assert(h2_guard_overdrawn(&g));
	h2_guard_fill(&g, START_MS); /* no time has passed */
	ck_assert(h2_guard_overdrawn(&g));
	h2_guard_fill(&g, START_MS + 1);
	ck_assert(!h2_guard_overdrawn(&g));
	h2_guard_fill(&g, START_MS + 1001);
	ck_assert_int_eq(g.credit, MOST / 5);
	h2_guard_fill(&g, UINT64_MAX / MOST); /* never more than there was */
	ck_assert_int_eq(g.credit, MOST);
}

/* However short the looks, all of the time counts. */
TEST(small_steps)
{
	struct h2_guard g;

	h2_guard_open(&g, 100, START_MS);
	h2_guard_take(&g, 100);
	for (uint64_t ms = 1; ms <= 1000; ms++)
		h2_guard_fill(&g, START_MS + ms);
	ck_assert_int_eq(g.credit, 20);
}

TEST(content_pays)
{
	struct h2_guard g;

	h2_guard_open(&g, MOST, START_MS);
	h2_guard_take(&g, 100);
	h2_guard_sent(&g, 16384);
	ck_assert_int_eq(g.credit, MOST - 100 + 18);
	h2_guard_sent(&g, 1 << 24);
	ck_assert_int_eq(g.credit, MOST);
}

/* --- frames, whole and in pieces of every size ------------------------------------------------ */

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
