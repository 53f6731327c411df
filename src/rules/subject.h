/*
 * subject: who a client is by its certificate, as RFC 4514 writes it, "CN=alice,O=Example", and the
 * rules that let subjects in. A rule is one or several of their parts, and lets in whoever has all
 * of them, in whatever order; "any" lets in whoever has a certificate. Parts are compared byte by
 * byte: no pattern, no case that is folded. Pure.
 */
#ifndef H2D_RULES_SUBJECT_H
#define H2D_RULES_SUBJECT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/slice.h"

struct subjects {
	const struct slice *rules; /* of subject_parse() */
	unsigned n;
};

/*
 * Makes a rule of what the configuration has: bytes beyond ASCII become "\C3\BC", as in subjects;
 * in a, or text itself. NULL, or what is wrong with it, a const string; rule->p NULL: memory is
 * out.
 */
const char *subject_parse(const char *text, struct arena *a, struct slice *rule);

/* subject NULL: of nobody, who is let in by no rule. */
bool subjects_allow(const struct subjects *s, const char *subject);

#endif
