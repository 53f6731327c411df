/*
 * accept: how much a client wants what it names in an accept field: quality values (RFC 9110,
 * 12.4.2), in thousandths, and the weight of a media type (12.5.1). Pure.
 */
#ifndef H2D_HTTP_ACCEPT_H
#define H2D_HTTP_ACCEPT_H

#include "http/field.h"

enum { ACCEPT_MAX = 1000 };

/* Reads a qvalue, "0.5", and nothing but that: 0 to ACCEPT_MAX. -1 if it is malformed. */
int accept_qvalue(struct slice qvalue);

/*
 * Reads ";q=0.5", with white space where RFC 9110, 12.4.2 has it; nothing at all is ACCEPT_MAX.
 * -1 if it is malformed or something else.
 */
int accept_parameter(struct slice weight);

/*
 * How much the accept fields among fields want type, "text/html", in thousandths: the weight of the
 * most specific range that matches, whatever parameters it has; 0 if none does or it is refused. A
 * malformed range is skipped. No such field: ACCEPT_MAX.
 */
int accept_weight(const struct field *fields, unsigned n, struct slice type);

#endif
