/*
 * cond: conditional requests (RFC 9110, 13), in the order of precedence of 13.2.2. Pure.
 */
#pragma once

#include <time.h>

#include "http/field.h"

/* Request headers that select the content of a file and its form. */
enum cond_field {
	COND_IF_MATCH = 1,
	COND_IF_NONE_MATCH = 2,
	COND_IF_MODIFIED_SINCE = 4,
	COND_IF_UNMODIFIED_SINCE = 8,
	COND_IF_RANGE = 16,
	COND_RANGE = 32,
	COND_ACCEPT_ENCODING = 64,
};

enum cond_result {
	COND_PROCEED,      /* answer as if there were no condition */
	COND_NOT_MODIFIED, /* 304 */
	COND_FAILED,       /* 412 */
};

/* Validators of the selected representation. */
struct cond_validators {
	struct slice etag;    /* with its quotes, W/ in front if weak; n 0: none */
	time_t last_modified; /* seconds */
};

/* The headers of enum cond_field that are present, a bit set: one pass saves later look-ups. */
unsigned cond_fields(const struct field *fields, unsigned n);

/* For GET and HEAD. seen: the result of cond_fields(). If-Range is not among these conditions. */
enum cond_result cond_check(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now);

/*
 * Checks a method that changes or deletes a representation: COND_PROCEED or COND_FAILED. v: of the
 * current representation, NULL if there is none. If-Match compares strongly; without an entity tag
 * (v->etag.n 0) only "*" matches. A malformed If-None-Match fails, to protect the client's data.
 * Only tags and If-Unmodified-Since count.
 */
enum cond_result cond_check_change(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now);

/*
 * The value of Range if it counts: it is the only one, and If-Range, if present, holds (RFC 9110,
 * 13.1.5). Else n 0. Called after COND_PROCEED of cond_check(), and for GET only (14.2).
 */
struct slice cond_range(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now);
