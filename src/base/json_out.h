/*
 * json_out: JSON put together in a strbuf, with a comma wherever one belongs. name is that of a
 * member of an object; NULL for an element of an array. The pages for programs are written with it.
 */
#ifndef H2D_BASE_JSON_OUT_H
#define H2D_BASE_JSON_OUT_H

#include <stdint.h>

#include "base/strbuf.h"

/* An object or array: its first bracket, and its last. */
void json_begin(struct strbuf *t, const char *name, char bracket);
void json_end(struct strbuf *t, char bracket);

void json_text(struct strbuf *t, const char *name, const char *text);
void json_signed(struct strbuf *t, const char *name, int64_t n);
void json_unsigned(struct strbuf *t, const char *name, uint64_t n);
/* A value that needs no quotes and no escapes: "null", "0.5". */
void json_plain(struct strbuf *t, const char *name, const char *value);

#endif
