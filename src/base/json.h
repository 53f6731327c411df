/*
 * json: the one place that escapes text for JSON strings (RFC 8259, 7), and JSON that is put
 * together in a strbuf; never an invalid character.
 */
#pragma once

#include <stdint.h>

#include "base/slice.h"
#include "base/strbuf.h"

enum { JSON_ESCAPED_MAX = 6 }; /* bytes that one byte may become */

/*
 * Writes s as the inside of a JSON string to out, which has room for JSON_ESCAPED_MAX times s.n
 * bytes; returns how many it wrote. Valid UTF-8 stays; each other byte becomes U+FFFD.
 */
size_t json_escape(char *out, struct slice s);
void json_add(struct strbuf *t, struct slice s);

/*
 * An object or array: its first bracket, and its last. Commas are added. name: of a member of an
 * object; NULL for an element of an array.
 */
void json_begin(struct strbuf *t, const char *name, char bracket);
void json_end(struct strbuf *t, char bracket);

void json_text(struct strbuf *t, const char *name, const char *text);
void json_signed(struct strbuf *t, const char *name, int64_t n);
void json_unsigned(struct strbuf *t, const char *name, uint64_t n);
/* A value that needs no quotes and no escapes: "null", "0.5". */
void json_plain(struct strbuf *t, const char *name, const char *value);
