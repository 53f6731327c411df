/*
 * range: the parts that a Range header requests, of content of a given size (RFC 9110, 14.1 and
 * 14.2). Pure. The caller decides if the header counts (method, conditions, If-Range).
 */
#pragma once

#include "base/slice.h"

/* The most that a header may name (zsync names dozens, Apache takes 200, too); one with more is not
 * worth its work and ignored. */
enum { RANGES_MAX = 200 };

enum range_result {
	RANGE_IGNORED,       /* answer without the header: 200 */
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
 * overlap or touch are joined, in the requested order (RFC 9110, 15.3.7.2). Ignored are other units
 * than bytes, malformed values, more than RANGES_MAX ranges, several that together are the whole
 * content, and a suffix of empty content, which content-range cannot express.
 */
enum range_result range_parse(struct slice value, uint64_t size, struct ranges *r);
