/*
 * states: a table of states, made from its .def file, and the check of a step from one to the
 * next. Each state variable has one writer, x_go(), which calls STATES_STEP(). An illegal step is
 * our bug: its alert names the table and both states.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { STATES_MAX = 16 };

struct states {
	const char *of; /* their noun: "connection" */
	struct {
		const char *name;
		unsigned next; /* bit set of the possible next states */
	} rows[STATES_MAX];
};

/* Asserts that the table has the step from state, a variable, and sets it. */
#define STATES_STEP(table, state, to) \
	(__builtin_expect(states_may_go(table, state, to), 1) \
			? (void)((state) = (to)) \
			: states_fail(table, state, to, __FILE__, __LINE__, __func__))

static inline bool states_may_go(const struct states *table, unsigned from, unsigned to)
{
	return table->rows[from].next >> to & 1;
}

/* "unknown" for a number that is no state, as another process may write. */
static inline const char *states_name(const struct states *table, unsigned state)
{
	return state < STATES_MAX && table->rows[state].name != NULL ? table->rows[state].name
								     : "unknown";
}

_Noreturn void states_fail(const struct states *table, unsigned from, unsigned to, const char *file,
	int line, const char *func) __attribute__((cold, noinline));

/*
 * flags: a set of flags with names, made from its .def file: facts that may hold together, such as
 * why something waits. Facts that exclude each other are states.
 *
 *	enum door_flag {
 *	#define DOOR_FLAG(name, text) FLAGS_BIT(DOOR_##name),
 *	#include "door_flag.def"
 *	};
 *	const char *const door_flags[] = {
 *	#define DOOR_FLAG(name, text) text,
 *	#include "door_flag.def"
 *		NULL };
 */

enum { FLAGS_TEXT = 256 };

/* In an enum: the flag, one bit, the next in each row. */
#define FLAGS_BIT(flag) flag##_AT, flag = 1u << flag##_AT, flag##_LAST = flag##_AT

/* The names of the flags in set, with ", " between them, cut to fit. Returns buf. */
const char *flags_text(const char *const *names, unsigned set, char buf[FLAGS_TEXT]);
