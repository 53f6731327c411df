/*
 * flags: a set of flags with names, made from its .def file: facts that may hold together, such as
 * why something waits. Facts that exclude one another are states (base/states.h).
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
#ifndef H2D_BASE_FLAGS_H
#define H2D_BASE_FLAGS_H

enum { FLAGS_TEXT = 256 };

/* In an enum: the flag, one bit, each row the next one. */
#define FLAGS_BIT(flag) flag##_AT, flag = 1u << flag##_AT, flag##_LAST = flag##_AT

/* The names of the flags in set, with ", " between them, as far as they fit. Returns buf. */
const char *flags_text(const char *const *names, unsigned set, char buf[FLAGS_TEXT]);

#endif
