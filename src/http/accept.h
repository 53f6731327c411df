/*
 * accept: which of the media types there are a client would rather have (RFC 9110, 12.5.1). Pure.
 */
#ifndef H2D_HTTP_ACCEPT_H
#define H2D_HTTP_ACCEPT_H

#include "http/field.h"

/*
 * How much the accept fields among fields want type, "text/html", in thousandths: the weight of the
 * most specific range that matches, whatever parameters it has; 0 if none does or it is refused. A
 * malformed range is skipped. No such field: QVALUE_MAX.
 */
int accept_weight(const struct field *fields, unsigned n, struct slice type);

#endif
