/*
 * body_parts: several ranges of one content as multipart/byteranges (RFC 9110, 14.6): a source that
 * strings heads and parts of another source together. Made by the file replies; never reads
 * anything itself.
 */
#ifndef H2D_FILES_BODY_PARTS_H
#define H2D_FILES_BODY_PARTS_H

#include "base/arena.h"
#include "http/range.h"
#include "request/body.h"

/*
 * Wraps *b, a source of size bytes that can seek and of which nothing was read: it becomes the
 * source of the whole multipart content, its length known. type: content-type of each part. The
 * boundary is random, so that nobody can put it into a file. *content_type is what the response
 * says. All of it lies in a. 0, or -1 when memory (or randomness) is out: *b is as it was.
 */
int body_parts(struct body *b, const struct ranges *r, uint64_t size, struct slice type,
	struct slice *content_type, struct arena *a);

#endif
