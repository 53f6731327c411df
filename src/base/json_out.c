/*
 * json_out: writes the members of objects and the elements of arrays. Whether a comma belongs in
 * front of one is told by the byte before it.
 */
#include "base/json_out.h"

#include <inttypes.h>

static void put_string(struct strbuf *t, struct slice s)
{
	strbuf_add(t, SLICE("\""));
	strbuf_json(t, s);
	strbuf_add(t, SLICE("\""));
}

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
