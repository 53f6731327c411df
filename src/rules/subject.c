/*
 * subject: splits subjects and rules at their commas. Site_maker parses the rules while a
 * generation is made; demand calls subjects_allow() per request, if a location has some. An escaped
 * comma ("\,") never ends a part, so no value can look like two parts.
 */
#include "rules/subject.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* No part: those have an equals sign. */
static const struct slice any = SLICE_LIT("any");

/* Takes the next part of *rest, up to a comma, which is taken, too. */
static struct slice next_part(struct slice *rest)
{
	size_t n = 0;
	struct slice part;

	while (n < rest->n && rest->p[n] != ',')
		n += rest->p[n] == '\\' && n + 1 < rest->n ? 2 : 1;
	part = slice_of(rest->p, n);
	n += n < rest->n;
	*rest = slice_of(rest->p + n, rest->n - n);
	return part;
}

/* "CN=alice", "2.5.4.5=#0c0141". */
static bool is_part(struct slice part)
{
	size_t n = 0;

	while (n < part.n &&
		(isalnum((unsigned char)part.p[n]) || part.p[n] == '.' || part.p[n] == '-'))
		n++;
	return n > 0 && n + 1 < part.n && part.p[n] == '=' && part.p[n + 1] != ' ' &&
	       (part.p[part.n - 1] != ' ' || part.p[part.n - 2] == '\\');
}

static struct slice escape(const char *text, struct arena *a)
{
	char *p = arena_alloc(a, 3 * strlen(text) + 1), *o = p;

	if (p == NULL)
		return (struct slice){ 0 };
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		o += sprintf(o, c < 0x80 ? "%c" : "\\%02X", c);
	}
	return slice_of(p, (size_t)(o - p));
}

const char *subject_parse(const char *text, struct arena *a, struct slice *rule)
{
	struct slice rest = slice_str(text), part;
	const char *end = rest.p + rest.n;

	*rule = rest;
	if (slice_eq(rest, any))
		return NULL;
	do {
		part = next_part(&rest);
		if (!is_part(part))
			return "write \"any\", or as in \"CN=alice\" or \"CN=alice,O=Example\", "
			       "without spaces around \",\" and \"=\" (openssl x509 -noout "
			       "-subject -nameopt RFC2253 -in FILE)";
	} while (part.p + part.n != end);
	*rule = escape(text, a);
	return NULL;
}

static bool has_part(struct slice subject, struct slice part)
{
	while (subject.n > 0)
		if (slice_eq(next_part(&subject), part))
			return true;
	return false;
}

static bool subject_fits(struct slice rule, struct slice subject)
{
	if (slice_eq(rule, any))
		return true;
	while (rule.n > 0)
		if (!has_part(subject, next_part(&rule)))
			return false;
	return true;
}

bool subjects_allow(const struct subjects *s, const char *subject)
{
	for (unsigned i = 0; subject != NULL && i < s->n; i++)
		if (subject_fits(s->rules[i], slice_str(subject)))
			return true;
	return false;
}
