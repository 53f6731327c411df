/* date: HTTP dates (RFC 9110, 5.6.7). Pure; no locale, no time zone but GMT. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/slice.h"

enum { DATE_LEN = 29 };

/* "Sun, 06 Nov 1994 08:49:37 GMT", DATE_LEN bytes and a NUL. Years 0 to 9999; others are clamped.
 */
void date_format(time_t t, char buf[DATE_LEN + 1]);

/* Any of the three forms a recipient must accept; now decides the century of two-digit years. */
bool date_parse(struct slice s, time_t now, time_t *t);
