/*
 * digest_field: a parser of as much of structured fields (RFC 9651, 4.2) as a dictionary of digests
 * needs: each member is an item; parameters, and items of algorithms that are not known, are passed
 * over. Called once per upload; must never allocate.
 */
#include "http/digest_field.h"

#include "http/base64.h"

static const struct {
	struct slice key;
	size_t size;
} algorithms[DIGEST_ALGORITHMS] = {
	[DIGEST_SHA_256] = { SLICE_LIT("sha-256"), 32 },
	[DIGEST_SHA_512] = { SLICE_LIT("sha-512"), 64 },
};

size_t digest_size(enum digest_algorithm a)
{
	return algorithms[a].size;
}

static void cut(struct slice *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

static bool take(struct slice *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	cut(s, 1);
	return true;
}

static void skip(struct slice *s, const char *bytes)
{
	while (s->n > 0 && s->p[0] != '\0' && strchr(bytes, s->p[0]) != NULL)
		cut(s, 1);
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
static bool cut_key(struct slice *s, struct slice *key)
{
	size_t n = 0;

	while (n < s->n && is_key(s->p[n]))
		n++;
	*key = slice_of(s->p, n);
	if (n == 0 || !(is_lower(key->p[0]) || key->p[0] == '*'))
		return false;
	cut(s, n);
	return true;
}

/* A byte sequence's base64 (4.2.7). */
static bool cut_bytes(struct slice *s, struct slice *text)
{
	const char *end;

	if (!take(s, ':'))
		return false;
	end = memchr(s->p, ':', s->n);
	if (end == NULL)
		return false;
	*text = slice_of(s->p, (size_t)(end - s->p));
	cut(s, text->n + 1);
	return true;
}

/* A string (4.2.5), or a display string (4.2.10) without its percent sign. */
static bool skip_string(struct slice *s)
{
	cut(s, 1);
	while (s->n > 0) {
		char c = s->p[0];

		cut(s, 1);
		if (c == '"')
			return true;
		if (c < 0x20 || c == 0x7f)
			return false;
		if (c == '\\' && !take(s, '"') && !take(s, '\\'))
			return false;
	}
	return false;
}

/* A number, date, token or boolean: what they are made of, and no more is asked. */
static bool skip_word(struct slice *s)
{
	size_t n = s->n;

	while (s->n > 0 && (field_is_tchar((unsigned char)s->p[0]) ||
				   (s->p[0] != '\0' && strchr(":/@?", s->p[0]) != NULL)))
		cut(s, 1);
	return s->n < n;
}

/* A bare item of any type (4.2.3.1). */
static bool skip_item(struct slice *s)
{
	struct slice text;

	if (s->n > 0 && s->p[0] == ':')
		return cut_bytes(s, &text);
	if (slice_starts(*s, SLICE("%\"")))
		cut(s, 1);
	return s->n > 0 && s->p[0] == '"' ? skip_string(s) : skip_word(s);
}

/* 4.2.3.2 */
static bool skip_parameters(struct slice *s)
{
	struct slice key;

	while (take(s, ';')) {
		skip(s, " ");
		if (!cut_key(s, &key))
			return false;
		if (take(s, '=') && !skip_item(s))
			return false;
	}
	return true;
}

/* *s is behind "sha-256=". */
static bool cut_hash(struct slice *s, enum digest_algorithm a, struct digest_field *d)
{
	unsigned char hash[BASE64_DECODED_MAX(BASE64_ENCODED(DIGEST_SIZE_MAX))];
	struct slice text;

	if (!cut_bytes(s, &text) || text.n > BASE64_ENCODED(algorithms[a].size) ||
		base64_decode(text, hash) != (ssize_t)algorithms[a].size)
		return false;
	memcpy(d->hash[a], hash, algorithms[a].size);
	d->given[a] = true;
	return true;
}

static bool cut_member(struct slice *s, struct digest_field *d)
{
	struct slice key;

	/* A key without a value is true (RFC 9651, 3.2), and no digest. */
	if (!cut_key(s, &key) || !take(s, '='))
		return false;
	for (enum digest_algorithm a = 0; a < DIGEST_ALGORITHMS; a++)
		if (slice_eq(key, algorithms[a].key))
			return cut_hash(s, a, d) && skip_parameters(s);
	return skip_item(s) && skip_parameters(s);
}

/* One line; several are parts of one dictionary (RFC 9651, 4.2). */
static bool parse_line(struct slice s, struct digest_field *d)
{
	skip(&s, " ");
	while (s.n > 0) {
		if (!cut_member(&s, d))
			return false;
		skip(&s, " \t");
		if (s.n == 0)
			return true;
		if (!take(&s, ','))
			return false;
		skip(&s, " \t");
		if (s.n == 0)
			return false;
	}
	return true;
}

const struct err *digest_field_parse(
	const struct field *fields, unsigned n, struct slice name, struct digest_field *d)
{
	memset(d, 0, sizeof(*d));
	for (unsigned i = 0; i < n; i++) {
		if (slice_eq(fields[i].name, name) && !parse_line(fields[i].value, d)) {
			memset(d, 0, sizeof(*d));
			return ERR_DIGEST_FIELD;
		}
	}
	return NULL;
}

const struct err *digest_field_compare(
	const struct digest_field *d, enum digest_algorithm a, const unsigned char *hash)
{
	if (!d->given[a] || memcmp(d->hash[a], hash, algorithms[a].size) == 0)
		return NULL;
	return ERR_DIGEST_WRONG;
}

size_t digest_field_write(
	char out[DIGEST_FIELD_MAX], enum digest_algorithm a, const unsigned char *hash)
{
	const struct slice key = algorithms[a].key;
	const size_t size = algorithms[a].size;
	char *o = out;

	o = mempcpy(o, key.p, key.n);
	o = mempcpy(o, "=:", 2);
	base64_encode(hash, size, o);
	o += BASE64_ENCODED(size);
	*o++ = ':';
	return (size_t)(o - out);
}
