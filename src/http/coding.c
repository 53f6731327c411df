/*
 * coding: chooses a content coding. One that the field does not name has the weight of "*";
 * without "*" it is refused and identity remains.
 */
#include "http/coding.h"

const struct slice coding_names[CODINGS] = {
	[CODING_BR] = SLICE_LIT("br"),
	[CODING_ZSTD] = SLICE_LIT("zstd"),
	[CODING_GZIP] = SLICE_LIT("gzip"),
};

const struct slice coding_extensions[CODINGS] = {
	[CODING_BR] = SLICE_LIT("br"),
	[CODING_ZSTD] = SLICE_LIT("zst"),
	[CODING_GZIP] = SLICE_LIT("gz"),
};

enum coding coding_beside(struct slice *path)
{
	for (enum coding c = 0; c < CODINGS; c++) {
		struct slice extension = coding_extensions[c];
		size_t rest = path->n - extension.n - 1;

		if (path->n < extension.n + 3 || path->p[rest] != '.' || path->p[rest - 1] == '/' ||
			memcmp(path->p + rest + 1, extension.p, extension.n) != 0)
			continue;
		path->n = rest;
		return c;
	}
	return CODING_NONE;
}

struct slice coding_path_beside(struct slice path, enum coding coding, char buf[PATH_MAX])
{
	struct slice extension = coding_extensions[coding];

	if (path.n > PATH_MAX - 2 - extension.n)
		return slice_of(buf, 0);
	memcpy(buf, path.p, path.n);
	buf[path.n] = '.';
	memcpy(buf + path.n + 1, extension.p, extension.n);
	return slice_of(buf, path.n + 1 + extension.n);
}

/* --- weights ---------------------------------------------------------------------------------- */

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

/* Cuts off the text before the next semicolon outside quotes (RFC 9110, 5.6.6). False at the
 * end. */
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

/* The weight of an element, "gzip;q=0.5"; -1: malformed. *token: the text before its parameters, of
 * which only q counts. */
static int cut_weight(struct slice element, struct slice *token)
{
	struct slice part;
	int q = ACCEPT_MAX;

	next_part(&element, token);
	while (next_part(&element, &part))
		if (part.n >= 2 && slice_ieq(slice_of(part.p, 2), SLICE("q=")))
			q = accept_qvalue(slice_of(part.p + 2, part.n - 2));
	return q;
}

/* --- codings ---------------------------------------------------------------------------------- */

/* The index of a name's weight; those after the codings are not in enum coding. */
enum { ANY = CODING_IDENTITY + 1, NAMES, UNKNOWN = NAMES };

static unsigned name_of(struct slice token)
{
	for (unsigned c = 0; c < CODINGS; c++)
		if (slice_ieq(token, coding_names[c]))
			return c;
	if (slice_eq(token, SLICE("*")))
		return ANY;
	if (slice_ieq(token, SLICE("identity")))
		return CODING_IDENTITY;
	if (slice_ieq(token, SLICE("x-gzip"))) /* RFC 9110, 8.4.1.3 */
		return CODING_GZIP;
	return UNKNOWN;
}

enum coding coding_choose(const struct field *fields, unsigned n, unsigned available)
{
	int weights[NAMES] = { [0 ... NAMES - 1] = -1 };
	enum coding best = CODING_NONE;
	bool said = false;
	int most = 0;

	for (unsigned i = 0; i < n; i++) {
		struct slice rest = fields[i].value, element;

		if (!slice_eq(fields[i].name, SLICE("accept-encoding")))
			continue;
		said = true;
		/* codings [ weight ] (RFC 9110, 12.5.3). Of duplicate names the last one counts. */
		while (field_list_next(&rest, &element)) {
			int weight = cut_weight(element, &element);
			unsigned name = name_of(element);

			if (name != UNKNOWN && weight >= 0)
				weights[name] = weight;
		}
	}
	if (!said)
		return CODING_IDENTITY;
	for (unsigned c = 0; c <= CODING_IDENTITY; c++)
		if (weights[c] < 0)
			weights[c] = weights[ANY];
	for (unsigned c = 0; c < CODINGS; c++)
		if ((available >> c & 1) && weights[c] > most) {
			best = (enum coding)c;
			most = weights[c];
		}
	/* Not forbidden: it remains when no other does (RFC 9110, 12.5.3, rule 2). */
	if (weights[CODING_IDENTITY] < 0)
		return best != CODING_NONE ? best : CODING_IDENTITY;
	return weights[CODING_IDENTITY] > most ? CODING_IDENTITY : best;
}

/* --- media types ------------------------------------------------------------------------------ */

/* The precision of range for type: 3 the type, 2 its tree, 1 all; 0: not at all. */
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
		struct slice list = fields[i].value, element, range;

		if (!slice_eq(fields[i].name, SLICE("accept")))
			continue;
		said = true;
		while (field_list_next(&list, &element)) {
			int q = cut_weight(element, &range), how = specificity(range, type);

			if (q >= 0 && how > 0 && how >= best) {
				best = how;
				weight = q;
			}
		}
	}
	return said ? weight : ACCEPT_MAX;
}
