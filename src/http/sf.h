/*
 * sf: structured fields (RFC 9651), as far as h2d reads them: items that are integers or booleans,
 * and parts of dictionaries. Parameters are checked and passed over. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/slice.h"

enum { SF_DIGITS_MAX = 15 }; /* of an integer */

/* Field values of one item: true if s is one of that type. */
bool sf_integer(struct slice s, int64_t *v);
bool sf_boolean(struct slice s, bool *v);

/* --- parts: each cuts its part off *s; false: it is missing, and *s is useless ---------------- */

bool sf_take(struct slice *s, char c);
bool sf_cut_key(struct slice *s, struct slice *key);
/* The base64 of a byte sequence. */
bool sf_cut_bytes(struct slice *s, struct slice *text);
/* A bare item of any type. */
bool sf_skip_item(struct slice *s);
bool sf_skip_parameters(struct slice *s);
