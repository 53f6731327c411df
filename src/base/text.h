/*
 * text: bytes that grow, for what is put together piece by piece: pages, JSON. Once memory is out it
 * stays failed and takes no more, so that only the end need be checked. One thread at a time.
 */
#ifndef H2D_BASE_TEXT_H
#define H2D_BASE_TEXT_H

#include "base/slice.h"

struct text {
	char *p;         /* from malloc; the owner of the text frees or takes it */
	size_t n, cap;
	bool failed;     /* memory was out: what is there is not all */
};

void text_add(struct text *t, struct slice s);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * As HTML content and in quoted attributes: markup is escaped, control bytes are shown by their pictures,
 * what is no UTF-8 by U+FFFD.
 */
void text_html(struct text *t, struct slice s);

/* As the inside of a JSON string (RFC 8259, 7); what is no UTF-8 becomes U+FFFD. */
void text_json(struct text *t, struct slice s);

/* As one segment of a URL's path, whatever the bytes: all but unreserved ones as escapes (RFC 3986, 2.1). */
void text_url(struct text *t, struct slice s);

/* Frees what it holds; it is empty, and can be used again. */
void text_fini(struct text *t);

#endif
