/*
 * json: the one place that escapes text for JSON strings (RFC 8259, 7), and JSON that is put
 * together in a strbuf. Listings, the access log and the pages for programs call it; it never
 * writes an invalid character.
 */
#ifndef H2D_BASE_JSON_H
#define H2D_BASE_JSON_H

#include <stdint.h>

#include "base/slice.h"
#include "base/strbuf.h"

enum { JSON_ESCAPED_MAX = 6 }; /* bytes that one byte may become */

/*
 * Writes s as the inside of a JSON string to out, which has room for JSON_ESCAPED_MAX times s.n
 * bytes; how many it wrote. Valid UTF-8 stays as it is; each byte that is none becomes U+FFFD.
 */
size_t json_escape(char *out, struct slice s);

/* Escapes s behind what is there. */
void json_add(struct strbuf *t, struct slice s);

/*
 * An object or array: its first bracket, and its last. A comma comes wherever one belongs. name is
 * that of a member of an object; NULL for an element of an array.
 */
void json_begin(struct strbuf *t, const char *name, char bracket);
void json_end(struct strbuf *t, char bracket);

void json_text(struct strbuf *t, const char *name, const char *text);
void json_signed(struct strbuf *t, const char *name, int64_t n);
void json_unsigned(struct strbuf *t, const char *name, uint64_t n);
/* A value that needs no quotes and no escapes: "null", "0.5". */
void json_plain(struct strbuf *t, const char *name, const char *value);

#endif
