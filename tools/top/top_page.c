/* top_page: makes lines in memory; top_screen writes them. See top_page.h. */
#include "tools/top/top_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>
#include <wctype.h>

#include "base/utf8.h"

static const char *const styles[] = {
	[TOP_PLAIN] = "",
	[TOP_BOLD] = "\x1b[1m",
	[TOP_DIM] = "\x1b[2m",
	[TOP_GOOD] = "\x1b[32m",
	[TOP_WARN] = "\x1b[33m",
	[TOP_BAD] = "\x1b[1;31m",
	[TOP_TITLE] = "\x1b[7m",
};

bool top_page_has_room(const struct top_page *p, unsigned n)
{
	return p->rows == 0 || p->row + n < p->rows;
}

/* The columns of the character; -1: not for this terminal. */
static int width_of(const struct top_page *p, struct slice c)
{
	mbstate_t state = { 0 };
	wchar_t wide;

	if (c.n == 1)
		return *c.p >= 0x20 && *c.p < 0x7f ? 1 : -1;
	if (!p->utf8 || c.n == 0 || mbrtowc(&wide, c.p, c.n, &state) != c.n ||
		!iswprint((wint_t)wide))
		return -1;
	return wcwidth(wide);
}

static void put_char(struct top_page *p, struct slice c)
{
	int width = width_of(p, c);

	if (width < 0) {
		c = SLICE("?");
		width = 1;
	}
	if (p->columns != 0 && p->column + (unsigned)width > p->columns) {
		p->column = p->columns; /* no narrower one after it either */
		return;
	}
	p->column += (unsigned)width;
	strbuf_add(&p->text, c);
}

void top_page_put(struct top_page *p, enum top_style style, const char *text)
{
	bool styled = p->colours && style != TOP_PLAIN;
	struct slice s = slice_str(text);

	if (!top_page_has_room(p, 0))
		return;
	if (styled)
		strbuf_add(&p->text, slice_str(styles[style]));
	while (s.n > 0) {
		size_t n = utf8_sequence(s);

		put_char(p, slice_of(s.p, n));
		n += n == 0;
		s = slice_of(s.p + n, s.n - n);
	}
	if (styled)
		strbuf_add(&p->text, SLICE("\x1b[0m"));
}

void top_page_printf(struct top_page *p, enum top_style style, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	top_page_put(p, style, text);
}

void top_page_end(struct top_page *p)
{
	if (!top_page_has_room(p, 0))
		return;
	/* After a full line the cursor is on its last column, not beyond. */
	if (p->screen && p->column < p->columns)
		strbuf_add(&p->text, SLICE("\x1b[K"));
	p->row++;
	p->column = 0;
	if (!p->screen)
		strbuf_add(&p->text, SLICE("\n"));
	else if (p->row < p->rows)
		strbuf_add(&p->text, SLICE("\r\n"));
}
