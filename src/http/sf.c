/* sf: see sf.h (RFC 9651, 4.2). Never allocates, never reads beyond the slice. */
#include "http/sf.h"

#include "http/field.h"

bool sf_take(struct slice *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	slice_skip(s, 1);
	return true;
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_key(char c)
{
	return is_lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
	       c == '*';
}

/* RFC 9651, 4.2.3.3 */
bool sf_cut_key(struct slice *s, struct slice *key)
{
	size_t n = 0;

	while (n < s->n && is_key(s->p[n]))
		n++;
	*key = slice_of(s->p, n);
	if (n == 0 || !(is_lower(key->p[0]) || key->p[0] == '*'))
		return false;
	slice_skip(s, n);
	return true;
}

/* A byte sequence's base64 (4.2.7). */
bool sf_cut_bytes(struct slice *s, struct slice *text)
{
	const char *end;

	if (!sf_take(s, ':'))
		return false;
	end = memchr(s->p, ':', s->n);
	if (end == NULL)
		return false;
	*text = slice_of(s->p, (size_t)(end - s->p));
	slice_skip(s, text->n + 1);
	return true;
}

/* A string (4.2.5), or a display string (4.2.10) without its percent sign. */
static bool skip_string(struct slice *s)
{
	slice_skip(s, 1);
	while (s->n > 0) {
		char c = s->p[0];

		slice_skip(s, 1);
		if (c == '"')
			return true;
		if (c < ' ' || c > '~')
			return false;
		if (c == '\\' && !sf_take(s, '"') && !sf_take(s, '\\'))
			return false;
	}
	return false;
}

/* A number, date, token or boolean: only its bytes are checked. */
static bool skip_word(struct slice *s)
{
	size_t n = s->n;

	while (s->n > 0 && (field_is_tchar((unsigned char)s->p[0]) ||
				   (s->p[0] != '\0' && strchr(":/@?", s->p[0]) != NULL)))
		slice_skip(s, 1);
	return s->n < n;
}

/* A bare item of any type (4.2.3.1). */
bool sf_skip_item(struct slice *s)
{
	struct slice text;

	if (s->n > 0 && s->p[0] == ':')
		return sf_cut_bytes(s, &text);
	if (slice_starts(*s, SLICE("%\"")))
		slice_skip(s, 1);
	return s->n > 0 && s->p[0] == '"' ? skip_string(s) : skip_word(s);
}

/* 4.2.3.2 */
bool sf_skip_parameters(struct slice *s)
{
	struct slice key;

	while (sf_take(s, ';')) {
		slice_skip_any(s, " ");
		if (!sf_cut_key(s, &key))
			return false;
		if (sf_take(s, '=') && !sf_skip_item(s))
			return false;
	}
	return true;
}

/* --- whole items ------------------------------------------------------------------------------ */

/* Reads to the end of an item, behind the bare one (4.2, 4.2.3). */
static bool item_ends(struct slice s)
{
	if (!sf_skip_parameters(&s))
		return false;
	slice_skip_any(&s, " ");
	return s.n == 0;
}

bool sf_integer(struct slice s, int64_t *v)
{
	bool negative;
	size_t digits = 0;
	int64_t n = 0;

	slice_skip_any(&s, " ");
	negative = sf_take(&s, '-');
	/* 4.2.4: fifteen digits are the most that every reader must hold. */
	while (digits < s.n && digits <= SF_DIGITS_MAX && s.p[digits] >= '0' && s.p[digits] <= '9')
		n = 10 * n + (s.p[digits++] - '0');
	if (digits == 0 || digits > SF_DIGITS_MAX)
		return false;
	slice_skip(&s, digits);
	*v = negative ? -n : n;
	/* A decimal is no integer. */
	return (s.n == 0 || s.p[0] != '.') && item_ends(s);
}

bool sf_boolean(struct slice s, bool *v)
{
	slice_skip_any(&s, " ");
	if (!sf_take(&s, '?'))
		return false;
	*v = sf_take(&s, '1');
	return (*v || sf_take(&s, '0')) && item_ends(s);
}
