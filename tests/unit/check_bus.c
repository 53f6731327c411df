/* check_bus: every reader hears every message in one order, loses what it is too slow for and knows
 * it, and trusts no byte of the ring. */
#include "event/bus.h"
#include "loop_unit.h"

#include <stdint.h>

enum { WRITERS = 4, EACH = 2000 };

static struct bus *bus;
static struct bus_reader *reader;
static uint64_t heard, lost;
static char last_topic[300], last_data[BUS_MESSAGE_MAX + 1];
static size_t last_n;

static void on_message(void *ctx, struct slice topic, struct slice data, uint64_t missed)
{
	ck_assert_ptr_eq(ctx, &heard);
	heard++;
	lost += missed;
	memcpy(last_topic, topic.p, topic.n);
	last_topic[topic.n] = '\0';
	memcpy(last_data, data.p, data.n);
	last_data[data.n] = '\0';
	last_n = data.n;
}

UNIT_SETUP(setup)
{
	heard = lost = 0;
	bus = bus_new();
	reader = bus_reader_new(bus, &loop, on_message, &heard);
	ck_assert_ptr_nonnull(reader);
}

UNIT_TEARDOWN(teardown)
{
	bus_reader_free(&reader);
	bus_free(&bus);
}

static void put(const char *topic, const char *data)
{
	ck_assert_int_eq(bus_put(bus, slice_str(topic), slice_str(data)), 0);
}

/* Turns until n messages were heard or lost. */
static void hear(uint64_t n)
{
	while (heard + lost < n)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_uint_eq(heard + lost, n);
}

TEST(heard_in_order)
{
	static char large[BUS_MESSAGE_MAX + 1];
	char topic[BUS_TOPIC_MAX + 2] = "";

	put("a", "one");
	put("b", "");
	hear(2);
	ck_assert_str_eq(last_topic, "b");
	ck_assert_uint_eq(last_n, 0);
	memset(topic, 't', BUS_TOPIC_MAX);
	memset(large, 'x', BUS_MESSAGE_MAX);
	/* Around the end of the ring, more than once. */
	for (uint64_t i = 0; i < 40; i++) {
		large[i] = 'y';
		put(topic, large);
		hear(3 + i);
		ck_assert_str_eq(last_topic, topic);
		ck_assert_str_eq(last_data, large);
	}
	ck_assert_uint_eq(lost, 0);
	topic[BUS_TOPIC_MAX] = 't';
	ck_assert_int_eq(bus_put(bus, slice_str(topic), SLICE("")), -EMSGSIZE);
	ck_assert_int_eq(bus_put(bus, SLICE("t"), slice_of(large, BUS_MESSAGE_MAX + 1)), -EMSGSIZE);
}

/* A reader that did not read for more than a ring hears the newest, and how many it missed. */
TEST(too_slow)
{
	static char data[1000];

	memset(data, 'd', sizeof(data) - 1);
	for (int i = 0; i < 2000; i++)
		put("t", data);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	put("t", "after");
	while (strcmp(last_data, "after") != 0)
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_uint_eq(heard + lost, 2001);
	ck_assert_uint_ge(lost, 900);
}

static void write_many(int writer)
{
	char data[32];

	for (int i = 0; i < EACH; i++) {
		snprintf(data, sizeof(data), "%d %d", writer, i);
		while (bus_put(bus, SLICE("t"), slice_str(data)) == -EBUSY)
			;
	}
	_exit(0);
}

/* Several processes write at once: each message is whole, and those of one come in its order. */
TEST(many_writers)
{
	int next[WRITERS] = { 0 }, writer, i;

	for (int w = 0; w < WRITERS; w++)
		if (fork() == 0)
			write_many(w);
	for (uint64_t n = 1; n <= (uint64_t)WRITERS * EACH; n++) {
		uint64_t before = heard;

		while (heard == before && heard + lost < n)
			ck_assert_int_eq(loop_turn(&loop, -1), 0);
		if (heard == before)
			continue;
		ck_assert_int_eq(sscanf(last_data, "%d %d", &writer, &i), 2);
		ck_assert_int_ge(i, next[writer]);
		next[writer] = i + 1;
		n = heard + lost;
	}
	ck_assert_uint_eq(heard + lost, (uint64_t)WRITERS * EACH);
	while (wait(NULL) > 0)
		;
}

static uint32_t *word(size_t i)
{
	return (uint32_t *)(void *)bus + i;
}

/* Nobody who holds the ring, or has written so, keeps the others from it. */
TEST(a_writer_that_stands_still)
{
	for (uint64_t i = 1; i <= 3; i++) {
		*word(0) = i == 2 ? 12345 : 1;
		put("t", "x");
		hear(i);
		ck_assert_uint_eq(*word(0), 0);
	}
}

TEST(a_writer_that_ends)
{
	*word(0) = 12345;
	bus_left(bus, 54321);
	ck_assert_uint_eq(*word(0), 12345);
	bus_left(bus, 12345);
	ck_assert_uint_eq(*word(0), 0);
}

/* Whatever stands in the ring, a reader ends with it and goes on. */
TEST(spoilt)
{
	put("topic", "data");
	hear(1);
	for (unsigned i = 0; i < 200; i++) {
		put("t", "d");
		memset((char *)bus + 24 + 8, (int)(i * 37 % 256), 4096);
		if (i % 3 == 0)
			*(uint64_t *)(void *)word(4) += i * 8;
		ck_assert_int_eq(loop_turn(&loop, 0), 0);
	}
	/* Messages behind what was spoilt are heard again. */
	do {
		put("t", "right");
		ck_assert_int_eq(loop_turn(&loop, -1), 0);
	} while (strcmp(last_data, "right") != 0);
}
