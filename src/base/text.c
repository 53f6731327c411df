/* text: see text.h. Called off the hot path, in threads too; must never trust the bytes it is given. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_FIRST = 1024, CONTROL_PICTURES = 0x2400, DELETE_PICTURE = 0x2421 };

static const char hex[] = "0123456789ABCDEF";

/* Room for n more bytes. */
static bool reserve(struct text *t, size_t n)
{
	size_t cap = t->cap > 0 ? t->cap : TEXT_FIRST;
	char *p;

	if (t->failed)
		return false;
	if (t->cap - t->n >= n)
		return true;
	while (cap - t->n < n)
		cap *= 2;
	p = realloc(t->p, cap);
	if (p == NULL) {
		t->failed = true;
		return false;
	}
	t->p = p;
	t->cap = cap;
	return true;
}

void text_add(struct text *t, struct slice s)
{
	if (s.n == 0 || !reserve(t, s.n))
		return;
	memcpy(t->p + t->n, s.p, s.n);
	t->n += s.n;
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || !reserve(t, (size_t)n + 1))
		return;
	va_start(args, fmt);
	vsnprintf(t->p + t->n, (size_t)n + 1, fmt, args);
	va_end(args);
	t->n += (size_t)n;
}

/* Bytes of the UTF-8 sequence that s begins with; 0: it begins with none (RFC 3629, 4). */
static size_t sequence(struct slice s)
{
	unsigned char c = (unsigned char)s.p[0], low = 0x80, high = 0xbf;
	size_t n;

	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	/* no longer forms than needed, no surrogates, nothing above U+10FFFF */
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	if (s.n < n)
		return 0;
	for (size_t i = 1; i < n; i++, low = 0x80, high = 0xbf)
		if ((unsigned char)s.p[i] < low || (unsigned char)s.p[i] > high)
			return 0;
	return n;
}

/* A code point of three bytes. */
static void add_picture(struct text *t, unsigned c)
{
	char p[3] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)),
		(char)(0x80 | (c & 0x3f)) };

	text_add(t, slice_of(p, 3));
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static void html_byte(struct text *t, char c)
{
	switch (c) {
	case '&':
		text_add(t, SLICE("&amp;"));
		break;
	case '<':
		text_add(t, SLICE("&lt;"));
		break;
	case '>':
		text_add(t, SLICE("&gt;"));
		break;
	case '"':
		text_add(t, SLICE("&quot;"));
		break;
	case '\'':
		text_add(t, SLICE("&#39;"));
		break;
	default:
		if (is_control(c))
			add_picture(t, c == 0x7f ? DELETE_PICTURE : CONTROL_PICTURES + (unsigned)c);
		else
			text_add(t, slice_of(&c, 1));
	}
}

static void json_byte(struct text *t, char c)
{
	char escape[6] = { '\\', 'u', '0', '0', hex[(unsigned char)c >> 4], hex[c & 15] };

	if (c == '"' || c == '\\')
		text_add(t, SLICE("\\"));
	text_add(t, is_control(c) ? slice_of(escape, sizeof(escape)) : slice_of(&c, 1));
}

/* Characters as they are but for those of one byte. */
static void add_escaped(struct text *t, struct slice s, void (*byte)(struct text *t, char c))
{
	while (s.n > 0) {
		size_t n = sequence(s);

		if (n == 1)
			byte(t, *s.p);
		else if (n > 1)
			text_add(t, slice_of(s.p, n));
		else
			text_add(t, SLICE("\xef\xbf\xbd"));
		n += n == 0;
		s.p += n;
		s.n -= n;
	}
}

void text_html(struct text *t, struct slice s)
{
	add_escaped(t, s, html_byte);
}

void text_json(struct text *t, struct slice s)
{
	add_escaped(t, s, json_byte);
}

void text_url(struct text *t, struct slice s)
{
	static const bool unreserved[256] = {
		['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['-'] = true,
		['.'] = true, ['_'] = true, ['~'] = true,
	};

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		char escape[3] = { '%', hex[c >> 4], hex[c & 15] };

		text_add(t, unreserved[c] ? slice_of(s.p + i, 1) : slice_of(escape, 3));
	}
}

void text_fini(struct text *t)
{
	free(t->p);
	*t = (struct text){ 0 };
}
