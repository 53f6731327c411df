/* type: the content-type of a file: its media type by name, and the charset of its root. Pure. */
#ifndef H2D_CACHE_TYPE_H
#define H2D_CACHE_TYPE_H

#include "base/arena.h"
#include "http/mime.h"

/* The value for files of mime; out of mime.def, or made in a. p NULL when a is spent. */
static inline struct slice type_make(const struct mime *mime, const char *charset, struct arena *a)
{
	if (!mime->text || charset[0] == '\0')
		return mime->type;
	return slice_str(
		arena_printf(a, "%.*s; charset=%s", SLICE_ARG(mime->type), charset));
}

#endif
