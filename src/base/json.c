/*
 * json: plain ASCII is copied byte by byte without looking further: up to seven times per request.
 */
#include "base/json.h"

#include <inttypes.h>

#include "base/utf8.h"

static size_t escape_byte(char *out, unsigned char c)
{
	static const char hex[] = "0123456789ABCDEF";

	if (c == '"' || c == '\\') {
		out[0] = '\\';
		out[1] = (char)c;
		return 2;
	}
	memcpy(out, "\\u00", 4);
	out[4] = hex[c >> 4];
	out[5] = hex[c & 15];
	return JSON_ESCAPED_MAX;
}

/* Writes the character, or the invalid byte, that s begins with; takes it from s. */
static size_t escape_wide(char *out, struct slice *s)
{
	size_t n = utf8_sequence(*s), wrote = n;

	if (n > 0)
		memcpy(out, s->p, n);
	else
		memcpy(out, UTF8_REPLACEMENT, wrote = sizeof(UTF8_REPLACEMENT) - 1);
	n += n == 0;
	*s = slice_of(s->p + n, s->n - n);
	return wrote;
}

size_t json_escape(char *out, struct slice s)
{
	char *p = out;

	while (s.n > 0) {
		unsigned char c = (unsigned char)*s.p;

		if (c >= 0x80) {
			p += escape_wide(p, &s);
			continue;
		}
		if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\')
			*p++ = (char)c;
		else
			p += escape_byte(p, c);
		s = slice_of(s.p + 1, s.n - 1);
	}
	return (size_t)(p - out);
}

/* --- members and elements --------------------------------------------------------------------- */

void json_add(struct strbuf *t, struct slice s)
{
	size_t most = s.n < PTRDIFF_MAX / JSON_ESCAPED_MAX ? JSON_ESCAPED_MAX * s.n : SIZE_MAX;

	if (strbuf_reserve(t, most))
		t->n += json_escape(t->p + t->n, s);
}

static void put_string(struct strbuf *t, struct slice s)
{
	strbuf_add(t, SLICE("\""));
	json_add(t, s);
	strbuf_add(t, SLICE("\""));
}

/* The byte before decides about a comma. */
static void put_name(struct strbuf *t, const char *name)
{
	char last = t->n > 0 ? t->p[t->n - 1] : '{';

	if (last != '{' && last != '[')
		strbuf_add(t, SLICE(","));
	if (name == NULL)
		return;
	put_string(t, slice_str(name));
	strbuf_add(t, SLICE(":"));
}

void json_begin(struct strbuf *t, const char *name, char bracket)
{
	put_name(t, name);
	strbuf_add(t, slice_of(&bracket, 1));
}

void json_end(struct strbuf *t, char bracket)
{
	strbuf_add(t, slice_of(&bracket, 1));
}

void json_text(struct strbuf *t, const char *name, const char *text)
{
	put_name(t, name);
	put_string(t, slice_str(text));
}

void json_signed(struct strbuf *t, const char *name, int64_t n)
{
	put_name(t, name);
	strbuf_printf(t, "%" PRId64, n);
}

void json_unsigned(struct strbuf *t, const char *name, uint64_t n)
{
	put_name(t, name);
	strbuf_printf(t, "%" PRIu64, n);
}

void json_plain(struct strbuf *t, const char *name, const char *value)
{
	put_name(t, name);
	strbuf_add(t, slice_str(value));
}
