/*
 * subject: the subject of a client's certificate, by RFC 4514, "CN=alice,O=Example", and the rules
 * that admit subjects. A rule has one or several parts, and admits subjects with all of them, in
 * any order; "any" admits every certificate. Parts are compared byte by byte: no patterns, no case
 * folding. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/slice.h"

struct subjects {
	const struct slice *rules; /* of subject_parse() */
	unsigned n;
};

/*
 * Makes a rule of the configuration's text: bytes beyond ASCII become "\C3\BC", like in subjects;
 * in a, or text itself. NULL, or the fault, a const string; rule->p NULL: memory is out.
 */
const char *subject_parse(const char *text, struct arena *a, struct slice *rule);

/* subject NULL: none; no rule admits it. */
bool subjects_allow(const struct subjects *s, const char *subject);
