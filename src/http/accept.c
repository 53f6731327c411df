/*
 * accept: weighs a media type against the accept field (RFC 9110, 12.5.1). Called per request where
 * a resource can be sent in more than one form; must never allocate.
 */
#include "http/accept.h"

int accept_qvalue(struct slice s)
{
	int digits = ACCEPT_MAX / 10, value;

	if (s.n == 0 || s.n > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.n > 1 && s.p[1] != '.'))
		return -1;
	value = (s.p[0] - '0') * ACCEPT_MAX;
	for (size_t i = 2; i < s.n; i++, digits /= 10) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		value += (s.p[i] - '0') * digits;
	}
	return value <= ACCEPT_MAX ? value : -1;
}

static struct slice skip_blanks(struct slice s)
{
	while (s.n > 0 && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	return s;
}

int accept_parameter(struct slice s)
{
	s = skip_blanks(s);
	if (s.n == 0)
		return ACCEPT_MAX;
	if (*s.p != ';')
		return -1;
	s = skip_blanks(slice_of(s.p + 1, s.n - 1));
	if (s.n < 2 || (s.p[0] != 'q' && s.p[0] != 'Q') || s.p[1] != '=')
		return -1;
	return accept_qvalue(slice_of(s.p + 2, s.n - 2));
}

/* Cuts off what is before the next semicolon outside quotes (RFC 9110, 5.6.6). False at the end. */
static bool next_part(struct slice *rest, struct slice *part)
{
	bool quoted = false;
	size_t i;

	if (rest->p == NULL)
		return false;
	for (i = 0; i < rest->n && (quoted || rest->p[i] != ';'); i++) {
		if (rest->p[i] == '"')
			quoted = !quoted;
		else if (quoted && rest->p[i] == '\\' && i + 1 < rest->n)
			i++;
	}
	*part = field_trim(slice_of(rest->p, i));
	*rest = i < rest->n ? slice_of(rest->p + i + 1, rest->n - i - 1) : (struct slice){ 0 };
	return true;
}

/* How closely range names type: the type itself 3, its tree 2, everything 1; 0: it does not. */
static int specificity(struct slice range, struct slice type)
{
	const char *slash = memchr(type.p, '/', type.n);
	struct slice tree = slice_of(type.p, (size_t)(slash + 1 - type.p));

	if (slice_ieq(range, type))
		return 3;
	if (slice_eq(range, SLICE("*/*")))
		return 1;
	if (range.n == tree.n + 1 && range.p[tree.n] == '*' &&
		slice_ieq(slice_of(range.p, tree.n), tree))
		return 2;
	return 0;
}

int accept_weight(const struct field *fields, unsigned n, struct slice type)
{
	int best = 0, weight = 0;
	bool said = false;

	for (unsigned i = 0; i < n; i++) {
		struct slice list = fields[i].value, element, part = { 0 };

		if (!slice_eq(fields[i].name, SLICE("accept")))
			continue;
		said = true;
		while (field_list_next(&list, &element)) {
			int how, q = ACCEPT_MAX;

			next_part(&element, &part);
			how = specificity(part, type);
			while (next_part(&element, &part))
				if (part.n >= 2 && slice_ieq(slice_of(part.p, 2), SLICE("q=")))
					q = accept_qvalue(slice_of(part.p + 2, part.n - 2));
			if (q >= 0 && how > 0 && how >= best) {
				best = how;
				weight = q;
			}
		}
	}
	return said ? weight : ACCEPT_MAX;
}
