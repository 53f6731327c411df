/*
 * accept: weighs a media type against the accept field (RFC 9110, 12.5.1). Called where a resource
 * can be sent in more than one form; must never allocate.
 */
#include "http/accept.h"

#include "http/qvalue.h"

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
		struct slice list = fields[i].value, element, part;

		if (!slice_eq(fields[i].name, SLICE("accept")))
			continue;
		said = true;
		while (field_list_next(&list, &element)) {
			int how, q = QVALUE_MAX;

			next_part(&element, &part);
			how = specificity(part, type);
			while (next_part(&element, &part))
				if (part.n >= 2 && slice_ieq(slice_of(part.p, 2), SLICE("q=")))
					q = qvalue_value(slice_of(part.p + 2, part.n - 2));
			if (q >= 0 && how > 0 && how >= best) {
				best = how;
				weight = q;
			}
		}
	}
	return said ? weight : QVALUE_MAX;
}
