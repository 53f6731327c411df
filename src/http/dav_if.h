/*
 * dav_if: the header If of WebDAV (RFC 4918, 10.4). Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/slice.h"

/*
 * True if a list of value holds for the resource at the path target, as the request spells it, with
 * that strong entity tag (n 0: none). False also if value is malformed. h2d has no locks: a state
 * token never matches, and so its "Not" holds. A list for another resource never holds.
 */
bool dav_if_holds(struct slice value, struct slice target, struct slice etag);
