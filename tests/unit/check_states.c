/*
 * check_states: names of states, and the end of who takes a step that is none: its alert says
 * which.
 */
#include "states_unit.h"

#include "base/states.h"
#include "unit.h"

static const struct states doors = { "door",
	{ { "OPEN", 1u << 1 }, { "SHUT", 1u << 0 | 1u << 2 }, { "GONE", 0 } } };

TEST(names_of_states)
{
	ck_assert_str_eq(states_name(&doors, 0), "OPEN");
	ck_assert_str_eq(states_name(&doors, 2), "GONE");
	ck_assert_str_eq(states_name(&doors, 3), "unknown");
	ck_assert_str_eq(states_name(&doors, UINT32_MAX), "unknown");
}

TEST(steps)
{
	ck_assert(states_may_go(&doors, 0, 1));
	ck_assert(!states_may_go(&doors, 0, 0));
	states_unit_walk(&doors, "OPEN>SHUT SHUT>OPEN SHUT>GONE", NULL);
}

static unsigned lets_all_pass(unsigned from, unsigned to)
{
	return to;
}

static unsigned stays(unsigned from, unsigned to)
{
	unsigned at = from;

	STATES_STEP(&doors, at, to);
	return from;
}

/* A writer that does not assert, one that does not assign, and a step too many or too few. */
TEST_EACH(walk_finds, 5)
{
	static const struct {
		const char *legal;
		unsigned (*go)(unsigned from, unsigned to);
		const char *fault;
	} t[] = {
		{ "OPEN>SHUT SHUT>OPEN SHUT>GONE", lets_all_pass,
			"OPEN>OPEN is illegal, and taken" },
		{ "OPEN>SHUT SHUT>OPEN SHUT>GONE", stays, "OPEN>SHUT is legal, and not taken" },
		{ "OPEN>SHUT SHUT>GONE", NULL, "SHUT>OPEN is illegal, and taken" },
		{ "OPEN>SHUT SHUT>OPEN SHUT>GONE GONE>OPEN", NULL,
			"GONE>OPEN is legal, and not taken" },
		{ "OPEN>SHUT SHUT>OPEN SHUT>GONE OPEN>AJAR", NULL,
			"1 of these steps are of no states" },
	};

	ck_assert_str_eq(states_unit_fault(&doors, t[_i].legal, t[_i].go), t[_i].fault);
}

enum door_flag { FLAGS_BIT(DOOR_OPEN), FLAGS_BIT(DOOR_RED), FLAGS_BIT(DOOR_OURS) };

static const char *const door_flags[] = { "open", "red", "ours", NULL };

TEST(bits)
{
	ck_assert_int_eq(DOOR_OPEN, 1);
	ck_assert_int_eq(DOOR_RED, 2);
	ck_assert_int_eq(DOOR_OURS, 4);
}

TEST(text)
{
	char buf[FLAGS_TEXT];

	ck_assert_str_eq(flags_text(door_flags, 0, buf), "");
	ck_assert_str_eq(flags_text(door_flags, DOOR_RED, buf), "red");
	ck_assert_str_eq(flags_text(door_flags, DOOR_OPEN | DOOR_OURS, buf), "open, ours");
	ck_assert_str_eq(flags_text(door_flags, -1u, buf), "open, red, ours");
}

TEST(too_long)
{
	char name[200], buf[FLAGS_TEXT];
	const char *const two[] = { name, name, name, NULL };

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ck_assert_uint_eq(strlen(flags_text(two, 7, buf)), FLAGS_TEXT - 1);
}
