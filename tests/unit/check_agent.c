/* check_agent: which share of its weight a machine says it can bear, and of a board gone mad. */
#include "board/board_health.h"

#include "board_unit.h"

enum { NOW = 1000000, CONNECTIONS = 100 };

UNIT_SETUP(setup)
{
	board->head.generation = 1;
	board->head.warm_ms = 1;
}

static struct board_slot *worker(unsigned slot, uint32_t live, uint32_t busy, uint32_t late_us)
{
	struct board_slot *s = board_take(board, slot, 1);

	s->state = BOARD_UP;
	s->load = BOARD_LOAD_OF(0, live);
	s->busy = busy;
	s->late_us = late_us;
	return s;
}

static unsigned percent(void)
{
	return agent_percent(board, CONNECTIONS, NOW);
}

static const struct {
	uint32_t live, busy, late_us;
	unsigned percent;
} loads[] = {
	{ 0, 0, 0, 100 },
	{ 50, 0, 0, 55 },
	{ 0, 500, 0, 55 },
	{ 50, 500, 0, 55 }, /* the greater of both */
	{ 100, 0, 0, 10 },
	{ 0, 1000, 0, 10 },
	{ 0, 0, 10000, 50 },
	{ 0, 0, 30000, 10 },
	{ 0, 0, 100000, 1 },
	{ 0, 1000, 10000000, 1 }, /* never 0: that would be a drain */
	{ UINT32_MAX, UINT32_MAX, UINT32_MAX, 1 },
};

TEST_ROWS(load, loads)
{
	worker(0, loads[_i].live, loads[_i].busy, loads[_i].late_us);
	ck_assert_uint_eq(percent(), loads[_i].percent);
}

/* A mean of those that serve now; workers that leave or have just begun do not count. */
TEST(workers)
{
	worker(0, 0, 1000, 0);
	worker(1, 0, 0, 0);
	worker(2, 0, 1000, 0)->generation = 0;
	worker(3, 0, 1000, 0)->state = BOARD_DRAIN;
	ck_assert_uint_eq(percent(), 55);
}

TEST(nobody)
{
	ck_assert_uint_eq(percent(), 1);
}

/* Slowly at first, but not where there is no cache. */
TEST(begins_slowly)
{
	static const unsigned steps[] = { 10, 20, 40, 80, 100, 100 };

	worker(0, 0, 0, 0);
	board->head.warm_ms = 0;
	ck_assert_uint_eq(percent(), 100);
	board->head.building = 1;
	ck_assert_uint_eq(percent(), 10);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		board->head.warm_ms = NOW - i * 1000;
		ck_assert_uint_eq(percent(), steps[i]);
	}
	board->head.warm_ms = NOW + 5; /* of a clock that is a little ahead */
	ck_assert_uint_eq(percent(), 10);
}

TEST(words)
{
	char text[AGENT_TEXT];

	worker(0, 25, 0, 0);
	ck_assert_uint_eq(agent_text(board, CONNECTIONS, NOW, text), 7);
	ck_assert_str_eq(text, "up 77%\n");
	board->head.health = BOARD_HEALTH_DRAINED | BOARD_HEALTH_IMAGE;
	ck_assert_uint_eq(agent_text(board, CONNECTIONS, NOW, text), strlen(text));
	ck_assert_str_eq(text, "up 0% # drained, image\n");
	board->head.health = UINT32_MAX;
	ck_assert_uint_eq(agent_text(board, CONNECTIONS, NOW, text), strlen(text));
	ck_assert_uint_eq(text[strlen(text) - 1], '\n');
}
