/* mime: finds the media type of a file name in rows that are sorted for binary search. */
#include "http/mime.h"

#include <stdlib.h>

#include "http/field.h"

enum kind { PACKED = 0, DATA = 1, TEXT = 3 }; /* bit 0 compressible, bit 1 text */

static const struct mime table[] = {
#define MIME(ext, kind, media_type) \
	{ SLICE_LIT(ext), SLICE_LIT(media_type), ((kind)&2) != 0, ((kind)&1) != 0 },
#include "http/mime.def"
};

enum { ROWS = sizeof(table) / sizeof(table[0]) };

static const struct mime unknown = {
	.extension = SLICE_LIT(""),
	.type = SLICE_LIT("application/octet-stream"),
};

/* The text after the last dot of the last segment; empty if that dot begins a hidden file. */
static struct slice extension_of(struct slice path)
{
	size_t i = path.n;

	while (i > 0 && path.p[i - 1] != '.' && path.p[i - 1] != '/')
		i--;
	if (i < 2 || path.p[i - 1] != '.' || path.p[i - 2] == '/')
		return slice_of(path.p, 0);
	return slice_of(path.p + i, path.n - i);
}

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : (unsigned char)c;
}

int mime_order(const void *a, const void *b)
{
	const struct slice *x = &((const struct mime *)a)->extension;
	const struct slice *y = &((const struct mime *)b)->extension;

	for (size_t i = 0; i < x->n && i < y->n; i++)
		if (lower(x->p[i]) != lower(y->p[i]))
			return lower(x->p[i]) - lower(y->p[i]);
	return (x->n > y->n) - (x->n < y->n);
}

static const struct mime *find(const struct mime *rows, size_t n, struct slice extension)
{
	const struct mime key = { .extension = extension };

	return extension.n > 0 && n > 0 ? bsearch(&key, rows, n, sizeof(*rows), mime_order) : NULL;
}

const struct mime *mime_find(const struct mime_types *types, struct slice path)
{
	struct slice extension = extension_of(path);
	const struct mime *m = types != NULL ? find(types->rows, types->n, extension) : NULL;

	if (m == NULL)
		m = find(table, ROWS, extension);
	if (m != NULL)
		return m;
	return types != NULL && types->unknown.type.n > 0 ? &types->unknown : &unknown;
}

/* A "*" in place of the subtype, or of both, matches every one. */
static bool matches(struct slice type, struct slice pattern)
{
	if (!slice_ends(pattern, SLICE("/*")))
		return slice_ieq(type, pattern);
	pattern.n--;
	return slice_eq(pattern, SLICE("*/")) ||
	       (type.n > pattern.n && slice_ieq(slice_of(type.p, pattern.n), pattern));
}

bool mime_packs(const struct mime_types *types, const struct mime *m)
{
	if (types == NULL || types->packed == NULL)
		return m->compressible;
	for (unsigned i = 0; i < types->npacked; i++)
		if (strcmp(types->packed[i], MIME_AUTO) == 0
				? m->compressible
				: matches(m->type, slice_str(types->packed[i])))
			return true;
	return false;
}

/* --- those of a configuration ----------------------------------------------------------------- */

/* RFC 9110, 8.3.1: type "/" subtype, without parameters. */
static bool is_type(struct slice s)
{
	size_t slash = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '/' && slash == 0 && i > 0)
			slash = i;
		else if (!field_is_tchar((unsigned char)s.p[i]))
			return false;
	}
	return slash > 0 && slash + 1 < s.n;
}

static bool ends(struct slice s, struct slice end)
{
	return s.n > end.n && slice_ieq(slice_of(s.p + s.n - end.n, end.n), end);
}

const char *mime_parse_type(const char *text, struct mime *m)
{
	*m = (struct mime){ .extension = SLICE(""), .type = slice_str(text) };
	if (memchr(text, ';', m->type.n) != NULL)
		return "remove the parameters and set charset instead";
	if (!is_type(m->type))
		return "write a media type like \"text/x-foo\"";
	m->text = m->type.n > 5 && slice_ieq(slice_of(m->type.p, 5), SLICE("text/"));
	m->compressible = m->text || ends(m->type, SLICE("+xml")) || ends(m->type, SLICE("+json"));
	for (size_t i = 0; i < ROWS; i++)
		if (slice_ieq(table[i].type, m->type))
			m->compressible |= table[i].compressible;
	return NULL;
}

const char *mime_parse(const char *text, struct mime *m)
{
	const char *colon = strchr(text, ':'), *why;
	struct slice extension;

	if (colon == NULL)
		return "write \"EXTENSION: TYPE\", as in \"foo: text/x-foo\"";
	extension = slice_of(text, (size_t)(colon - text));
	if (extension.n > 0 && extension.p[0] == '.')
		return "write the extension without a dot";
	for (size_t i = 0; i < extension.n; i++)
		if (!field_is_tchar((unsigned char)extension.p[i]) || extension.p[i] == '.')
			extension.n = 0;
	if (extension.n == 0)
		return "write one extension before the colon, as in \"foo\"";
	why = mime_parse_type(colon + 1 + strspn(colon + 1, " \t"), m);
	m->extension = extension;
	return why;
}

static bool same(const struct mime *a, const struct mime *b)
{
	return mime_order(a, b) == 0 && slice_eq(a->type, b->type);
}

bool mime_types_eq(const struct mime_types *a, const struct mime_types *b)
{
	bool eq = a->n == b->n && same(&a->unknown, &b->unknown) && a->npacked == b->npacked;

	for (unsigned i = 0; eq && i < a->n; i++)
		eq = same(&a->rows[i], &b->rows[i]);
	for (unsigned i = 0; eq && i < a->npacked; i++)
		eq = strcmp(a->packed[i], b->packed[i]) == 0;
	return eq;
}
