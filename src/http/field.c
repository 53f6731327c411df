/*
 * field: finds headers, checks their bytes, and splits lists. Called per request by all readers of
 * headers; must never allocate and never trust that a value ends in NUL.
 */
#include "http/field.h"

/* tchar without upper case (RFC 9110, 5.6.2) */
static const bool name_byte[256] = {
	['!'] = true,
	['#' ... '\''] = true,
	['*' ... '+'] = true,
	['-' ... '.'] = true,
	['0' ... '9'] = true,
	['^' ... 'z'] = true,
	['|'] = true,
	['~'] = true,
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

const struct field *field_find(const struct field *fields, unsigned n, struct slice name)
{
	for (const struct field *f = fields; f != fields + n; f++)
		if (f->name.n == name.n && memcmp(f->name.p, name.p, name.n) == 0)
			return f;
	return NULL;
}

bool field_name_valid(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!name_byte[(unsigned char)name.p[i]])
			return false;
	return name.n > 0;
}

bool field_is_hop(struct slice name)
{
	static const struct slice hops[] = { SLICE_LIT("connection"), SLICE_LIT("content-length"),
		SLICE_LIT("keep-alive"), SLICE_LIT("proxy-connection"), SLICE_LIT("te"),
		SLICE_LIT("trailer"), SLICE_LIT("transfer-encoding"), SLICE_LIT("upgrade") };

	for (size_t i = 0; i < sizeof(hops) / sizeof(hops[0]); i++)
		if (slice_eq(name, hops[i]))
			return true;
	return false;
}

bool field_among(struct slice name, const char *names)
{
	struct slice one;

	do
		one = slice_next_word(&names, " ");
	while (one.n > 0 && !slice_eq(one, name));
	return one.n > 0;
}

bool field_is_tchar(unsigned char c)
{
	return name_byte[c] || (c >= 'A' && c <= 'Z');
}

size_t field_token_length(struct slice s)
{
	size_t n = 0;

	while (n < s.n && field_is_tchar((unsigned char)s.p[n]))
		n++;
	return n;
}

/* Sixteen bytes at a time: compilers make it a few instructions on any machine. */
typedef uint8_t bytes __attribute__((vector_size(16)));

/* Tabs count as control bytes here. */
static bool have_control(const char *p)
{
	uint64_t found[2];
	bytes v;

	memcpy(&v, p, sizeof(v));
	v = (bytes)(v < 0x20) | (bytes)(v == 0x7f);
	memcpy(found, &v, sizeof(v));
	return (found[0] | found[1]) != 0;
}

bool field_value_valid(struct slice value)
{
	static const bool control[256] = { [0 ... 8] = true, [10 ... 31] = true, [127] = true };
	size_t i = 0;

	if (value.n > 0 && (is_blank(value.p[0]) || is_blank(value.p[value.n - 1])))
		return false;
	if (value.n >= sizeof(bytes)) {
		while (value.n - i >= sizeof(bytes) && !have_control(value.p + i))
			i += sizeof(bytes);
		/* The last sixteen, some of them seen before. */
		if (value.n - i < sizeof(bytes) && !have_control(value.p + value.n - sizeof(bytes)))
			return true;
	}
	for (; i < value.n; i++)
		if (control[(unsigned char)value.p[i]])
			return false;
	return true;
}

struct slice field_trim(struct slice s)
{
	while (s.n > 0 && is_blank(s.p[0]))
		s = slice_of(s.p + 1, s.n - 1);
	while (s.n > 0 && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* The comma that ends the element at s, or the end. */
static size_t element_length(struct slice s)
{
	bool quoted = false;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			quoted = !quoted;
		else if (quoted && s.p[i] == '\\')
			i++; /* quoted-pair (RFC 9110, 5.6.4); i may exceed the end by one */
		else if (!quoted && s.p[i] == ',')
			return i;
	}
	return s.n;
}

bool field_list_next(struct slice *rest, struct slice *element)
{
	while (rest->n > 0) {
		size_t n = element_length(*rest);
		struct slice e = { rest->p, n };

		if (n < rest->n)
			n++;
		rest->p += n;
		rest->n -= n;
		e = field_trim(e);
		if (e.n > 0) {
			*element = e;
			return true;
		}
	}
	return false;
}

bool field_list_has(struct slice list, struct slice word)
{
	struct slice element;

	while (field_list_next(&list, &element))
		if (slice_ieq(element, word))
			return true;
	return false;
}

/* --- cookies ---------------------------------------------------------------------------------- */

bool field_cookie(struct slice all, struct slice name, struct slice *value)
{
	struct slice pair, have;

	while (all.n > 0) {
		slice_cut(&all, ';', &pair);
		if (!slice_cut(&pair, '=', &have) || !slice_eq(field_trim(have), name))
			continue;
		*value = field_trim(pair);
		return true;
	}
	return false;
}

/* --- parameters ------------------------------------------------------------------------------- */

/* *s begins with a quotation mark. False: there is no second. */
static bool cut_quoted(struct slice *s, struct slice *inside)
{
	for (size_t i = 1; i < s->n; i++) {
		if (s->p[i] == '\\') {
			i++;
		} else if (s->p[i] == '"') {
			*inside = slice_of(s->p + 1, i - 1);
			slice_skip(s, i + 1);
			return true;
		}
	}
	return false;
}

bool field_pair_cut(struct slice *rest, struct field_param *p)
{
	p->name = slice_of(rest->p, field_token_length(*rest));
	slice_skip(rest, p->name.n);
	if (p->name.n == 0 || rest->n == 0 || rest->p[0] != '=')
		return false;
	slice_skip(rest, 1);
	p->quoted = rest->n > 0 && rest->p[0] == '"';
	if (p->quoted)
		return cut_quoted(rest, &p->value);
	p->value = slice_of(rest->p, field_token_length(*rest));
	slice_skip(rest, p->value.n);
	return p->value.n > 0;
}

enum field_param_result field_param_next(struct slice *rest, struct field_param *p)
{
	bool semicolon = false;

	for (;;) {
		slice_skip_any(rest, " \t");
		if (rest->n == 0)
			return FIELD_PARAM_NONE;
		if (rest->p[0] != ';')
			break;
		semicolon = true;
		slice_skip(rest, 1);
	}
	return semicolon && field_pair_cut(rest, p) ? FIELD_PARAM_FOUND : FIELD_PARAM_BAD;
}

ssize_t field_param_value(const struct field_param *p, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < p->value.n; i++) {
		if (p->quoted && p->value.p[i] == '\\')
			i++; /* a byte follows: field_pair_cut() checked that */
		if (n == size)
			return -1;
		out[n++] = p->value.p[i];
	}
	return (ssize_t)n;
}
