/* mime: media types by file name extension, from mime.def, looked up without regard to case. Pure.
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

/* Of the last extension of the last segment of path; application/octet-stream if unknown. Never
 * NULL. */
const struct mime *mime_find(struct slice path);

#endif
