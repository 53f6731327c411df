/*
 * param: parameters behind a value, `; name=value; other="quoted value"` (RFC 9110, 5.6.6), as
 * content-type and content-disposition have them. Pure.
 */
#ifndef H2D_HTTP_PARAM_H
#define H2D_HTTP_PARAM_H

#include "base/slice.h"

struct param {
	struct slice name;  /* a token, in whatever case it came */
	struct slice value; /* a token, or what is between the quotes, with its quoted-pairs */
	bool quoted;
};

enum param_result {
	PARAM_FOUND,
	PARAM_NONE, /* the end */
	PARAM_BAD,
};

/* Cuts the next parameter, with the semicolon before it, off *rest. Empty ones are skipped. */
enum param_result param_next(struct slice *rest, struct param *p);

#endif
