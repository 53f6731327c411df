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

#endif
