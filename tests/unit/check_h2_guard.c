/* check_h2_guard: what acts cost, and how credit comes back. */
#include "proto/h2_guard.h"

#include "unit.h"

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

UNIT_MAIN_PURE("h2_guard")
