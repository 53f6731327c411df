/*
 * qvalue: quality values (RFC 9110, 12.4.2), in thousandths: how much a client wants what it names.
 * Pure. Called by all that read an accept field.
 */
#ifndef H2D_HTTP_QVALUE_H
#define H2D_HTTP_QVALUE_H

#include "base/slice.h"

enum { QVALUE_MAX = 1000 };

/* Reads a qvalue, "0.5", and nothing but that: 0 to QVALUE_MAX. -1 if it is malformed. */
int qvalue_value(struct slice qvalue);

/*
 * Reads ";q=0.5", with white space where RFC 9110, 12.4.2 has it; nothing at all is QVALUE_MAX.
 * -1 if it is malformed or something else.
 */
int qvalue_parse(struct slice weight);

#endif
