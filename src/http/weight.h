/*
 * weight: quality values (RFC 9110, 12.4.2), in thousandths: how much a client wants what it names.
 * Pure; whoever reads an accept field calls it.
 */
#ifndef H2D_HTTP_WEIGHT_H
#define H2D_HTTP_WEIGHT_H

#include "base/slice.h"

enum { WEIGHT_MAX = 1000 };

/* Reads a qvalue, "0.5", and nothing but that: 0 to WEIGHT_MAX. -1 if it is malformed. */
int weight_value(struct slice qvalue);

/*
 * Reads ";q=0.5", with white space where RFC 9110, 12.4.2 has it; nothing at all is WEIGHT_MAX.
 * -1 if it is malformed or something else.
 */
int weight_parse(struct slice weight);

#endif
