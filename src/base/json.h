/*
 * json: the one place that escapes text for JSON strings (RFC 8259, 7). Listings, the access log
 * and /status.json call it; it allocates nothing and never writes an invalid character.
 */
#ifndef H2D_BASE_JSON_H
#define H2D_BASE_JSON_H

#include "base/slice.h"

enum { JSON_ESCAPED_MAX = 6 }; /* bytes that one byte may become */

/*
 * Writes s as the inside of a JSON string to out, which has room for JSON_ESCAPED_MAX times s.n
 * bytes; how many it wrote. Valid UTF-8 stays as it is; each byte that is none becomes U+FFFD.
 */
size_t json_escape(char *out, struct slice s);

#endif
