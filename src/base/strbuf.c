/* strbuf: appends, plain, formatted or escaped; never trusts its input. */
#include "base/strbuf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

enum { STRBUF_FIRST = 1024, CONTROL_PICTURES = 0x2400, DELETE_PICTURE = 0x2421 };

static const char hex[] = "0123456789ABCDEF";

bool strbuf_reserve(struct strbuf *t, size_t n)
{
	size_t cap = t->cap > 0 ? t->cap : STRBUF_FIRST;
	char *p;

	if (t->failed)
		return false;
	if (t->cap - t->n >= n)
		return true;
	if (n > PTRDIFF_MAX - t->n) {
		t->failed = true;
		return false;
	}
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

void strbuf_add(struct strbuf *t, struct slice s)
{
	if (s.n == 0 || !strbuf_reserve(t, s.n))
		return;
	memcpy(t->p + t->n, s.p, s.n);
	t->n += s.n;
}

void strbuf_printf(struct strbuf *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || !strbuf_reserve(t, (size_t)n + 1))
		return;
	va_start(args, fmt);
	vsnprintf(t->p + t->n, (size_t)n + 1, fmt, args);
	va_end(args);
	t->n += (size_t)n;
}

static void add_picture(struct strbuf *t, unsigned c)
{
	char p[3] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)),
		(char)(0x80 | (c & 0x3f)) };

	strbuf_add(t, slice_of(p, 3));
}

static void html_byte(struct strbuf *t, char c)
{
	switch (c) {
	case '&':
		strbuf_add(t, SLICE("&amp;"));
		break;
	case '<':
		strbuf_add(t, SLICE("&lt;"));
		break;
	case '>':
		strbuf_add(t, SLICE("&gt;"));
		break;
	case '"':
		strbuf_add(t, SLICE("&quot;"));
		break;
	case '\'':
		strbuf_add(t, SLICE("&#39;"));
		break;
	default:
		if (utf8_is_control((unsigned char)c))
			add_picture(t, c == 0x7f ? DELETE_PICTURE : CONTROL_PICTURES + (unsigned)c);
		else
			strbuf_add(t, slice_of(&c, 1));
	}
}

/* A character of several bytes: a direction or control character is named, as it has no picture. */
static void html_character(struct strbuf *t, struct slice s)
{
	uint32_t c = utf8_number(s.p, s.n);

	if (utf8_is_control(c) || utf8_is_direction(c))
		strbuf_printf(t, "[U+%04X]", c);
	else
		strbuf_add(t, s);
}

void strbuf_html(struct strbuf *t, struct slice s)
{
	while (s.n > 0) {
		size_t n = utf8_sequence(s);

		if (n == 1)
			html_byte(t, *s.p);
		else if (n > 1)
			html_character(t, slice_of(s.p, n));
		else
			strbuf_add(t, SLICE(UTF8_REPLACEMENT));
		n += n == 0;
		s = slice_of(s.p + n, s.n - n);
	}
}

void strbuf_url(struct strbuf *t, struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		char escape[3] = { '%', hex[c >> 4], hex[c & 15] };
		bool unreserved = isalnum(c) || (c != '\0' && strchr("-._~", c) != NULL);

		strbuf_add(t, unreserved ? slice_of(s.p + i, 1) : slice_of(escape, 3));
	}
}

void strbuf_fini(struct strbuf *t)
{
	free(t->p);
	*t = (struct strbuf){ 0 };
}
