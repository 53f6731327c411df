/*
 * strbuf: a growing buffer for text that is made of pieces: pages, JSON. Once memory is out it
 * stays failed and takes no more, so that only the end need be checked. Not for the hot path.
 */
#pragma once

#include "base/slice.h"

struct strbuf {
	char *p; /* from malloc; the owner of the text frees or takes it */
	size_t n, cap;
	bool failed; /* memory was out: the text is incomplete */
};

/* Makes room for n more bytes. False: it has failed. */
bool strbuf_reserve(struct strbuf *t, size_t n);

void strbuf_add(struct strbuf *t, struct slice s);
void strbuf_printf(struct strbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Escapes for HTML content and quoted attributes: markup is escaped, control bytes become their
 * pictures, characters of direction "[U+202E]", bytes that are no UTF-8 U+FFFD.
 */
void strbuf_html(struct strbuf *t, struct slice s);

/* One segment of a URL's path, of any bytes: all but unreserved ones are escaped (RFC 3986,
 * 2.1). */
void strbuf_url(struct strbuf *t, struct slice s);

/* Frees its memory; it is empty, and can be used again. */
void strbuf_fini(struct strbuf *t);
