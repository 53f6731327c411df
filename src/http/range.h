/*
 * range: byte ranges of a representation (RFC 9110, 14.1 and 14.2): what a Range field asks for, of
 * content of a given size. Pure. Whether the field counts at all (method, conditions, If-Range) is
 * the caller's to decide.
 */
#ifndef H2D_HTTP_RANGE_H
#define H2D_HTTP_RANGE_H

#include "base/slice.h"

/* As many as a field may name (zsync names dozens, Apache takes 200, too); one that names more is
 * not worth its work and ignored. */
enum { RANGES_MAX = 200 };

enum range_result {
	RANGE_IGNORED,       /* answer as if there were no such field: 200 */
	RANGE_PARTIAL,       /* 206 */
	RANGE_UNSATISFIABLE, /* 416 */
};

/* n bytes (at least one) from offset at. */
struct range {
	uint64_t at, n;
};

struct ranges {
	unsigned n;
	struct range v[RANGES_MAX];
};

/*
 * Reads value for content of size bytes. RANGE_PARTIAL: *r has the satisfiable ranges; those that
 * overlap or touch are one, all are in the order in which they were asked for (RFC 9110, 15.3.7.2).
 * Ignored are other units than bytes, malformed values, more than RANGES_MAX ranges, several that
 * together are the whole content, and the end of empty content, which content-range has no way to
 * write.
 */
enum range_result range_parse(struct slice value, uint64_t size, struct ranges *r);

#endif
