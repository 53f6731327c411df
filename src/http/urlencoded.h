/*
 * urlencoded: application/x-www-form-urlencoded (URL Standard, 5.1), as queries and forms have it:
 * "name=value&name=value", "+" for a space, any byte percent-encoded. Pure.
 */
#ifndef H2D_HTTP_URLENCODED_H
#define H2D_HTTP_URLENCODED_H

#include "http/field.h"

/* How many pairs there are. */
size_t urlencoded_count(struct slice in);

/*
 * Decodes n bytes at p in place; there is room for one more. pairs has room for as many as
 * urlencoded_count() said. Their bytes lie at p and end in NUL, whatever they are; a name without
 * "=" has an empty value, and an escape that is none stays as it is.
 */
void urlencoded_decode(char *p, size_t n, struct field *pairs);

#endif
