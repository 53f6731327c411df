/*
 * strbuf: bytes that grow, for text that is put together piece by piece: pages, JSON. Once memory
 * is out it stays failed and takes no more, so that only the end need be checked. Listings, error
 * pages and the status are written with it; it is never used on the hot path, and by one thread at
 * a time.
 */
#ifndef H2D_BASE_STRBUF_H
#define H2D_BASE_STRBUF_H

#include "base/slice.h"

struct strbuf {
	char *p; /* from malloc; the owner of the text frees or takes it */
	size_t n, cap;
	bool failed; /* memory was out: what is there is not all */
};

/* Room for n more bytes behind the last one. False: it has failed. */
bool strbuf_reserve(struct strbuf *t, size_t n);

void strbuf_add(struct strbuf *t, struct slice s);
void strbuf_printf(struct strbuf *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * As HTML content and in quoted attributes: markup is escaped, control bytes are shown by their
 * pictures, what turns the direction of text as "[U+202E]", what is no UTF-8 by U+FFFD.
 */
void strbuf_html(struct strbuf *t, struct slice s);

/* As one segment of a URL's path, whatever the bytes: all but unreserved ones as escapes (RFC
 * 3986, 2.1). */
void strbuf_url(struct strbuf *t, struct slice s);

/* Frees what it holds; it is empty, and can be used again. */
void strbuf_fini(struct strbuf *t);

#endif
