/*
 * h1_text: small pieces of a message's head and of its framing (RFC 9112), collected before they go
 * to an outq. Inline: most of a response over HTTP/1 is made here. On the stack.
 */
#pragma once

#include <string.h>

#include "base/outq.h"
#include "base/slice.h"

struct h1_text {
	struct outq *q;
	size_t n;
	bool failed; /* memory was out */
	char buf[1024];
};

static inline void h1_text_begin(struct h1_text *t, struct outq *q)
{
	t->q = q;
	t->n = 0;
	t->failed = false;
}

/* Not inline: gcc's sanitizers would report an empty buf as read before it is written. */
static __attribute__((noinline, unused)) void h1_text_flush(struct h1_text *t)
{
	if (outq_copy(t->q, t->buf, t->n) < 0)
		t->failed = true;
	t->n = 0;
}

/* -1 when memory was out: see outq_copy(). */
static inline int h1_text_end(struct h1_text *t)
{
	h1_text_flush(t);
	return t->failed ? -1 : 0;
}

static inline void h1_text_put(struct h1_text *t, struct slice s)
{
	if (s.n > sizeof(t->buf) - t->n) {
		h1_text_flush(t);
		if (s.n > sizeof(t->buf)) {
			t->failed |= outq_copy(t->q, s.p, s.n) < 0;
			return;
		}
	}
	memcpy(t->buf + t->n, s.p, s.n);
	t->n += s.n;
}

/* A header line. */
static inline void h1_text_field(struct h1_text *t, struct slice name, struct slice value)
{
	size_t n = name.n + value.n + 4;
	char *at = t->buf + t->n;

	if (n > sizeof(t->buf) - t->n) {
		h1_text_put(t, name);
		h1_text_put(t, SLICE(": "));
		h1_text_put(t, value);
		h1_text_put(t, SLICE("\r\n"));
		return;
	}
	memcpy(at, name.p, name.n);
	at += name.n;
	memcpy(at, ": ", 2);
	memcpy(at + 2, value.p, value.n);
	memcpy(at + 2 + value.n, "\r\n", 2);
	t->n += n;
}

static __attribute__((cold, noinline, unused)) void h1_text_upgrade(
	struct h1_text *t, struct slice protocol)
{
	h1_text_put(t, SLICE("connection: upgrade\r\n"));
	h1_text_field(t, SLICE("upgrade"), protocol);
}

/* The line before a chunk of n bytes (RFC 9112, 7.1). -1 when memory is out. */
static inline int h1_put_chunk_size(struct outq *q, size_t n)
{
	char line[18], *p = line + sizeof(line);

	*--p = '\n';
	*--p = '\r';
	do
		*--p = "0123456789abcdef"[n & 15];
	while ((n >>= 4) != 0);
	return outq_copy(q, p, (size_t)(line + sizeof(line) - p));
}
