/*
 * mime: media types by file name extension, looked up without regard to case: from a configuration,
 * then from mime.def; and their headers in a response. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

struct mime {
	struct slice extension;
	struct slice type;
	bool text;         /* a charset parameter makes sense */
	bool compressible; /* text-like: worth a compressed variant */
};

/* Media types that precede the table. */
struct mime_types {
	const struct mime *rows; /* in mime_order() */
	unsigned n;
	struct mime unknown; /* type of other names; type.n 0: application/octet-stream */
	char *const *packed; /* types with compressed forms, perhaps by a "*"; NULL: MIME_AUTO */
	unsigned npacked;
};

#define MIME_AUTO "auto" /* the compressible ones */

/*
 * The media type by the last extension of the last segment of path. types NULL: by the table alone.
 * Never NULL.
 */
const struct mime *mime_find(const struct mime_types *types, struct slice path);

/*
 * *m of "foo: text/x-foo", or of "text/x-foo", with an empty extension. Text or compressible
 * follows the table's row of that type, else its kind: "text/…", "…+xml", "…+json". NULL, or the
 * fault. text owns the strings.
 */
const char *mime_parse(const char *text, struct mime *m);
const char *mime_parse_type(const char *text, struct mime *m);

/* True if files of type m, found in types, have compressed forms. */
bool mime_packs(const struct mime_types *types, const struct mime *m);

/* Compares extensions, for qsort(); 0: the same, perhaps in another case. */
int mime_order(const void *a, const void *b);

bool mime_types_eq(const struct mime_types *a, const struct mime_types *b);

/* --- a response's headers by file name; the same for keeper and workers --- */

/* The content-type for files of mime; from mime.def, or made in a. p NULL when a is full. */
static inline struct slice mime_content_type(
	const struct mime *mime, struct slice charset, struct arena *a)
{
	if (!mime->text || charset.n == 0)
		return mime->type;
	return slice_str(
		arena_printf(a, "%.*s; charset=%.*s", SLICE_ARG(mime->type), SLICE_ARG(charset)));
}

/*
 * True if accept-encoding may select the content for a file that packs (vary), wherever it is read:
 * by variants, if codings (a bit set by enum coding: those configured) has any, or by files beside
 * it.
 */
static inline bool mime_varies(bool packs, unsigned codings, bool sidecars)
{
	return packs && (codings != 0 || sidecars);
}

/*
 * True if a document of that type is only film, sound or a picture: it cannot contain a script. SVG
 * can, and so can other XML.
 */
static inline bool mime_is_media(struct slice type)
{
	static const struct slice xml = SLICE_LIT("+xml");
	struct slice rest = type;

	slice_cut(&rest, ';', &type);
	if (type.n >= xml.n && slice_ieq(slice_of(type.p + type.n - xml.n, xml.n), xml))
		return false;
	return slice_starts(type, SLICE("video/")) || slice_starts(type, SLICE("audio/")) ||
	       slice_starts(type, SLICE("image/"));
}
