/*
 * urlencoded: application/x-www-form-urlencoded (URL Standard, 5.1), of queries and forms:
 * "name=value&name=value", "+" for a space, any byte percent-encoded. Pure.
 */
#pragma once

#include "http/field.h"

/* The number of pairs. */
size_t urlencoded_count(struct slice in);

/*
 * Decodes n bytes at p in place; there is room for one more. pairs has room for urlencoded_count()
 * of them. Their bytes, of any value, are at p and end in NUL; a name without "=" has an empty
 * value, and an invalid escape stays.
 */
void urlencoded_decode(char *p, size_t n, struct field *pairs);
