/*
 * coding: reads accept-encoding and chooses a content coding. Called per request by the file
 * replies; must never allocate. What the field does not name has no weight of its own: "*" stands
 * for it, and without that a coding is not wanted and identity is what is left.
 */
#include "http/coding.h"

#include "http/accept.h"

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

/* Where the weight of a name is kept; those after the codings are not among enum coding. */
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

static bool is_accept_encoding(const struct field *f)
{
	return f->name.n == 15 && memcmp(f->name.p, "accept-encoding", 15) == 0;
}

/* codings [ weight ] (RFC 9110, 12.5.3). Of a name that comes twice the last one counts. */
static void read_element(struct slice e, int *weights)
{
	struct slice token = { e.p, 0 };
	unsigned name;
	int weight;

	while (token.n < e.n && memchr("; \t", e.p[token.n], 3) == NULL)
		token.n++;
	name = name_of(token);
	if (name == UNKNOWN)
		return;
	weight = accept_parameter(slice_of(e.p + token.n, e.n - token.n));
	if (weight >= 0)
		weights[name] = weight;
}

enum coding coding_choose(const struct field *fields, unsigned n, unsigned available)
{
	int weights[NAMES] = { [0 ... NAMES - 1] = -1 };
	enum coding best = CODING_NONE;
	bool said = false;
	int most = 0;

	for (unsigned i = 0; i < n; i++) {
		struct slice rest = fields[i].value, element;

		if (!is_accept_encoding(&fields[i]))
			continue;
		said = true;
		while (field_list_next(&rest, &element))
			read_element(element, weights);
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
	/* Nobody forbade it: it is there when nothing else is (RFC 9110, 12.5.3, rule 2). */
	if (weights[CODING_IDENTITY] < 0)
		return best != CODING_NONE ? best : CODING_IDENTITY;
	return weights[CODING_IDENTITY] > most ? CODING_IDENTITY : best;
}
