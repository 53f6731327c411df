/*
 * mime: media types by file name extension, looked up without regard to case: from mime.def, and in
 * front of it from what a configuration says. Pure.
 */
#ifndef H2D_HTTP_MIME_H
#define H2D_HTTP_MIME_H

#include <stdbool.h>

#include "base/slice.h"

struct mime {
	struct slice extension;
	struct slice type;
	bool text;         /* a charset parameter makes sense */
	bool compressible; /* text-like: worth a compressed variant */
};

/* Media types that go before the table. */
struct mime_types {
	const struct mime *rows; /* in mime_order() */
	unsigned n;
	struct mime unknown; /* of a name that is in neither; type.n 0: application/octet-stream */
};

/*
 * The media type by the last extension of the last segment of path. types NULL: by the table alone.
 * Never NULL.
 */
const struct mime *mime_find(const struct mime_types *types, struct slice path);

/*
 * *m of "foo: text/x-foo", or of "text/x-foo", with an empty extension. Whether it is text or
 * compressible is as the table has it for that type, else by its kind: "text/…", "…+xml",
 * "…+json". NULL, or what is wrong. The strings are text's.
 */
const char *mime_parse(const char *text, struct mime *m);
const char *mime_parse_type(const char *text, struct mime *m);

/* By their extensions, as qsort() wants it; 0: the same one, perhaps in another case. */
int mime_order(const void *a, const void *b);

bool mime_types_eq(const struct mime_types *a, const struct mime_types *b);

#endif
