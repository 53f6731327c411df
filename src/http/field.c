/*
 * field: finds fields, checks their bytes, and takes lists apart. Called per request by everything
 * that reads fields; must never allocate and never trust that a value ends in NUL.
 */
#include "http/field.h"

/* tchar without upper case (RFC 9110, 5.6.2) */
static const bool name_byte[256] = {
	['0' ... '9'] = true,
	['a' ... 'z'] = true,
	['!'] = true,
	['#'] = true,
	['$'] = true,
	['%'] = true,
	['&'] = true,
	['\''] = true,
	['*'] = true,
	['+'] = true,
	['-'] = true,
	['.'] = true,
	['^'] = true,
	['_'] = true,
	['`'] = true,
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

bool field_is_tchar(unsigned char c)
{
	return name_byte[c] || (c >= 'A' && c <= 'Z');
}

static bool is_control(unsigned char c)
{
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* Sixteen bytes at a time: compilers make a few instructions of it, whatever the machine. */
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
	size_t i = 0;

	if (value.n > 0 && (is_blank(value.p[0]) || is_blank(value.p[value.n - 1])))
		return false;
	if (value.n >= sizeof(bytes)) {
		while (value.n - i >= sizeof(bytes) && !have_control(value.p + i))
			i += sizeof(bytes);
		/* The last sixteen, of which some were seen. */
		if (value.n - i < sizeof(bytes) && !have_control(value.p + value.n - sizeof(bytes)))
			return true;
	}
	for (; i < value.n; i++)
		if (is_control((unsigned char)value.p[i]))
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
			i++; /* quoted-pair (RFC 9110, 5.6.4); i may pass the end by one */
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
