/*
 * multipart_head: reads the field lines of a part. Called once per part, in memory of the parser's;
 * what two readers could understand differently is refused, not guessed at.
 */
#include "http/multipart_head.h"

#include "http/field.h"
#include "http/param.h"
#include "http/percent.h"

/* Fields, and parameters, that there were. */
enum { DISPOSITION = 1, TYPE = 2 };
enum { NAME = 1, FILENAME = 2, FILENAME_EXT = 4 };

/* Notes bit in *seen; false if it was there. */
static bool first(unsigned *seen, unsigned bit)
{
	bool is = !(*seen & bit);

	*seen |= bit;
	return is;
}

/* Joins lines that are folded (RFC 5322, 2.2.3); the length without their CRLF. */
static size_t unfold(char *head, size_t n)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		if (n - i > 2 && head[i] == '\r' && head[i + 1] == '\n' &&
			(head[i + 2] == ' ' || head[i + 2] == '\t'))
			i += 2;
		head[o++] = head[i];
	}
	return o;
}

/* The character that the bytes at in[i] of a quoted name stand for; *n: how many they are. */
static char name_byte(struct slice in, size_t i, size_t *n)
{
	int c;

	*n = 1;
	if (in.p[i] == '\\' && in.n - i > 1 && (in.p[i + 1] == '"' || in.p[i + 1] == '\\')) {
		*n = 2;
		return in.p[i + 1];
	}
	if (in.p[i] == '%') {
		c = percent_byte(in, i);
		if (c == '"' || c == '\r' || c == '\n') {
			*n = 3;
			return (char)c;
		}
	}
	return in.p[i];
}

/* A name, decoded in place; at: where the bytes of p->value are. */
static struct slice decode_name(const struct param *p, char *at)
{
	size_t o = 0, n;

	if (!p->quoted)
		return p->value;
	for (size_t i = 0; i < p->value.n; i += n)
		at[o++] = name_byte(p->value, i, &n);
	return slice_of(at, o);
}

/* UTF-8'language'%C3%A4 (RFC 8187, 3.2.1), decoded in place. */
static bool decode_ext(const struct param *p, char *at, struct slice *name)
{
	static const struct slice charset = SLICE_LIT("UTF-8'");
	struct slice in = p->value;
	const char *quote;
	size_t o = 0;

	if (p->quoted || in.n < charset.n || !slice_ieq(slice_of(in.p, charset.n), charset))
		return false;
	quote = memchr(in.p + charset.n, '\'', in.n - charset.n);
	if (quote == NULL)
		return false;
	for (size_t i = (size_t)(quote + 1 - in.p); i < in.n; i++) {
		int c = (unsigned char)in.p[i];

		if (c == '%') {
			c = percent_byte(in, i);
			i += 2;
		}
		/* attr-char: a byte of a token, but not these */
		if (c < 0 || in.p[i] == '\'' || in.p[i] == '*')
			return false;
		at[o++] = (char)c;
	}
	*name = slice_of(at, o);
	return true;
}

/* at: as of decode_name() */
static bool take_param(const struct param *p, char *at, struct multipart_part *part, unsigned *seen)
{
	if (slice_ieq(p->name, SLICE("name"))) {
		part->name = decode_name(p, at);
		return first(seen, NAME);
	}
	if (slice_ieq(p->name, SLICE("filename"))) {
		if (!(*seen & FILENAME_EXT))
			part->filename = decode_name(p, at);
		return first(seen, FILENAME);
	}
	if (slice_ieq(p->name, SLICE("filename*")))
		return first(seen, FILENAME_EXT) && decode_ext(p, at, &part->filename);
	return true;
}

static const struct err *disposition(struct slice value, char *head, struct multipart_part *part)
{
	const char *semicolon = memchr(value.p, ';', value.n);
	size_t n = semicolon != NULL ? (size_t)(semicolon - value.p) : value.n;
	struct slice rest = slice_of(value.p + n, value.n - n);
	enum param_result result;
	unsigned seen = 0;
	struct param p;

	if (!slice_ieq(field_trim(slice_of(value.p, n)), SLICE("form-data")))
		return ERR_MULTIPART_DISPOSITION;
	while ((result = param_next(&rest, &p)) == PARAM_FOUND)
		if (!take_param(&p, head + (p.value.p - head), part, &seen))
			return ERR_MULTIPART_HEAD;
	if (result == PARAM_BAD)
		return ERR_MULTIPART_HEAD;
	part->has_filename = seen & (FILENAME | FILENAME_EXT);
	return seen & NAME ? NULL : ERR_MULTIPART_DISPOSITION;
}

/* RFC 7578, 4.7: what is not coded may say so. */
static bool is_coded(struct slice value)
{
	return !slice_ieq(value, SLICE("binary")) && !slice_ieq(value, SLICE("8bit")) &&
	       !slice_ieq(value, SLICE("7bit"));
}

static const struct err *take_field(struct slice name, struct slice value, char *head,
	struct multipart_part *part, unsigned *seen)
{
	if (slice_ieq(name, SLICE("content-disposition")))
		return first(seen, DISPOSITION) ? disposition(value, head, part)
						: ERR_MULTIPART_DISPOSITION;
	if (slice_ieq(name, SLICE("content-type"))) {
		part->content_type = value;
		return first(seen, TYPE) ? NULL : ERR_MULTIPART_HEAD;
	}
	if (slice_ieq(name, SLICE("content-transfer-encoding")) && is_coded(value))
		return ERR_MULTIPART_CODING;
	return NULL;
}

static bool is_name(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!field_is_tchar((unsigned char)name.p[i]))
			return false;
	return name.n > 0;
}

/* Cuts "name: value" CRLF off *rest. */
static bool next_field(struct slice *rest, struct slice *name, struct slice *value)
{
	const char *end = memmem(rest->p, rest->n, "\r\n", 2), *colon;
	size_t n;

	if (end == NULL)
		return false;
	n = (size_t)(end - rest->p);
	colon = memchr(rest->p, ':', n);
	if (colon == NULL)
		return false;
	*name = slice_of(rest->p, (size_t)(colon - rest->p));
	*value = field_trim(slice_of(colon + 1, (size_t)(end - colon - 1)));
	*rest = slice_of(end + 2, rest->n - n - 2);
	return is_name(*name) && field_value_valid(*value);
}

const struct err *multipart_head_parse(char *head, size_t n, struct multipart_part *part)
{
	struct slice rest = slice_of(head, unfold(head, n)), name, value;
	const struct err *err = NULL;
	unsigned seen = 0;

	*part = (struct multipart_part){ 0 };
	while (rest.n > 0 && err == NULL) {
		if (!next_field(&rest, &name, &value))
			return ERR_MULTIPART_HEAD;
		err = take_field(name, value, head, part, &seen);
	}
	if (err == NULL && !(seen & DISPOSITION))
		err = ERR_MULTIPART_DISPOSITION;
	return err;
}
