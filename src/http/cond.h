/*
 * cond: conditional requests (RFC 9110, 13), in the order of precedence of 13.2.2.
 * Pure: fields and validators in, verdict out.
 */
#ifndef H2D_HTTP_COND_H
#define H2D_HTTP_COND_H

#include <time.h>

#include "http/field.h"

/* Request fields that decide what of a file is sent, and in which form. */
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
	struct slice etag;    /* with its quotes, and W/ in front of a weak one; n 0: none */
	time_t last_modified; /* seconds */
};

/* The fields of enum cond_field that are there, a bit set: one pass, so that nobody looks for what
 * is not there. */
unsigned cond_fields(const struct field *fields, unsigned n);

/* For GET and HEAD. seen: what cond_fields() said. If-Range is not among these conditions. */
enum cond_result cond_check(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now);

/*
 * For methods that change or delete what is there, before they do: COND_PROCEED or COND_FAILED. v:
 * of the representation as it is now, NULL if there is none. If-Match compares strongly; an entity
 * tag that the representation does not have (v->etag.n 0) matches none but "*". If-None-Match that
 * is malformed fails, so that who asked to be guarded is. Only tags and If-Unmodified-Since count.
 */
enum cond_result cond_check_change(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now);

/*
 * The value of Range if it is to be heeded: there is one such field, and If-Range, if there is one,
 * holds (RFC 9110, 13.1.5). Else n 0. After cond_check() said COND_PROCEED, and for GET only
 * (14.2).
 */
struct slice cond_range(const struct field *fields, unsigned n, unsigned seen,
	const struct cond_validators *v, time_t now);

#endif
