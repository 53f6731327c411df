/*
 * cookie: one cookie out of the field that has all of them (RFC 6265, 4.2.1). Values are what came,
 * quotation marks included: nothing in a cookie is encoded, but by who set it. Pure.
 */
#ifndef H2D_HTTP_COOKIE_H
#define H2D_HTTP_COOKIE_H

#include "base/slice.h"

/* The value of the first cookie of that name, byte for byte. False: there is none. */
bool cookie_find(struct slice all, struct slice name, struct slice *value);

#endif
