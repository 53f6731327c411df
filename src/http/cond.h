/*
 * cond: conditional requests for GET and HEAD (RFC 9110, 13), in the order of precedence of 13.2.2.
 * Pure: fields and validators in, verdict out.
 */
#ifndef H2D_HTTP_COND_H
#define H2D_HTTP_COND_H

#include <time.h>

#include "http/field.h"

enum cond_result {
	COND_PROCEED,         /* answer as if there were no condition */
	COND_NOT_MODIFIED,    /* 304 */
	COND_FAILED,          /* 412 */
};

/* Validators of the selected representation. */
struct cond_validators {
	struct slice etag;    /* strong, with its quotes */
	time_t last_modified; /* seconds */
};

enum cond_result cond_check(const struct field *fields, unsigned n, const struct cond_validators *v,
	time_t now);

#endif
