/*
 * content_type: what a file's name says of it: its content-type, by media type and charset, and
 * whether there may be compressed forms of it. One answer for keeper and workers. Pure.
 */
#ifndef H2D_HTTP_CONTENT_TYPE_H
#define H2D_HTTP_CONTENT_TYPE_H

#include "base/arena.h"
#include "http/mime.h"

/* The value for files of mime; out of mime.def, or made in a. p NULL when a is spent. */
static inline struct slice content_type_make(
	const struct mime *mime, struct slice charset, struct arena *a)
{
	if (!mime->text || charset.n == 0)
		return mime->type;
	return slice_str(
		arena_printf(a, "%.*s; charset=%.*s", SLICE_ARG(mime->type), SLICE_ARG(charset)));
}

/*
 * Whether accept-encoding may decide what is sent for a file of mime (vary), wherever it is read:
 * by variants, if codings (a bit set by enum coding: those configured) has any, or by files beside
 * it.
 */
static inline bool content_type_varies(const struct mime *mime, unsigned codings, bool sidecars)
{
	return mime->compressible && (codings != 0 || sidecars);
}

/*
 * Whether a document of that type is film, sound or a picture and nothing else: no script can be in
 * it. SVG may have some, and so may whatever else is written as XML.
 */
static inline bool content_type_is_media(struct slice type)
{
	static const struct slice xml = SLICE_LIT("+xml");
	const char *semicolon = memchr(type.p, ';', type.n);

	if (semicolon != NULL)
		type.n = (size_t)(semicolon - type.p);
	if (type.n >= xml.n && slice_ieq(slice_of(type.p + type.n - xml.n, xml.n), xml))
		return false;
	return slice_starts(type, SLICE("video/")) || slice_starts(type, SLICE("audio/")) ||
	       slice_starts(type, SLICE("image/"));
}

#endif
