/*
 * multipart: content is searched by memmem(3), and handed on in place. Only a whole line is a
 * boundary; a line that only begins like one is content. Until the line is whole, its bytes are
 * held back.
 */
#include "http/multipart.h"

#include "http/field.h"
#include "http/path.h"

enum { CONTENT /* or preamble */, HEAD, EPILOGUE, FAILED };

enum line {
	LINE_OPEN, /* can become a boundary */
	LINE_BOUNDARY,
	LINE_CONTENT,
	LINE_LONG,
};

static enum multipart_event multipart_fail(struct multipart *m, const struct err *err)
{
	m->state = FAILED;
	m->err = err;
	return MULTIPART_BAD;
}

/* Content, or the preamble, begins: its first line may be a boundary. */
static void begin_content(struct multipart *m)
{
	m->state = CONTENT;
	memcpy(m->line, "\r\n", 2);
	m->nline = m->unreal = 2;
}

/* Any printable ASCII byte may be in it, more than RFC 2046 allows. */
static bool set_boundary(struct multipart *m, const struct field_param *p)
{
	ssize_t n = field_param_value(p, m->delimiter + 4, sizeof(m->delimiter) - 4);

	memcpy(m->delimiter, "\r\n--", 4);
	for (ssize_t i = 0; i < n; i++)
		if (m->delimiter[4 + i] < ' ' || m->delimiter[4 + i] > '~')
			return false;
	m->ndelimiter = 4 + (size_t)n;
	return n > 0 && m->delimiter[m->ndelimiter - 1] != ' ';
}

const struct err *multipart_init(struct multipart *m, struct slice content_type, unsigned parts_max)
{
	static const struct slice type = SLICE_LIT("multipart/form-data");
	enum field_param_result result;
	struct slice rest;
	struct field_param p;
	bool found = false;

	if (content_type.n < type.n || !slice_ieq(slice_of(content_type.p, type.n), type))
		return ERR_MULTIPART_TYPE;
	rest = slice_of(content_type.p + type.n, content_type.n - type.n);
	if (rest.n > 0 && strchr("; \t", rest.p[0]) == NULL)
		return ERR_MULTIPART_TYPE;
	while ((result = field_param_next(&rest, &p)) == FIELD_PARAM_FOUND) {
		if (!slice_ieq(p.name, SLICE("boundary")))
			continue;
		if (found || !set_boundary(m, &p))
			return ERR_MULTIPART_BOUNDARY;
		found = true;
	}
	if (result == FIELD_PARAM_BAD || !found)
		return ERR_MULTIPART_BOUNDARY;
	m->in_part = false;
	m->parts_left = parts_max;
	m->err = NULL;
	m->data = (struct slice){ 0 };
	m->part = (struct multipart_part){ 0 };
	begin_content(m);
	return NULL;
}

/* The place of the delimiter in s, or of its beginning, cut off by the end; s.n: none. */
static size_t find_delimiter(const struct multipart *m, struct slice s)
{
	const char *p = memmem(s.p, s.n, m->delimiter, m->ndelimiter);
	size_t tail = s.n < m->ndelimiter - 1 ? s.n : m->ndelimiter - 1, n;

	if (p != NULL)
		return (size_t)(p - s.p);
	/* Only its first byte is a CR, so only the last CR matters. */
	p = memrchr(s.p + s.n - tail, '\r', tail);
	if (p == NULL)
		return s.n;
	n = (size_t)(s.p + s.n - p);
	return memcmp(p, m->delimiter, n) == 0 ? s.n - n : s.n;
}

/* True: the held line has "--" after the boundary. */
static bool line_is_final(const struct multipart *m)
{
	return m->nline > m->ndelimiter + 1 && m->line[m->ndelimiter] == '-';
}

/* The kind of the held line with c appended. */
static enum line line_with(const struct multipart *m, char c)
{
	if (m->nline < m->ndelimiter)
		return c == m->delimiter[m->nline] ? LINE_OPEN : LINE_CONTENT;
	if (m->line[m->nline - 1] == '\r')
		return c == '\n' ? LINE_BOUNDARY : LINE_CONTENT;
	if (m->nline == m->ndelimiter + 1 && m->line[m->ndelimiter] == '-')
		return c == '-' ? LINE_OPEN : LINE_CONTENT;
	if (c == '-' && m->nline == m->ndelimiter)
		return LINE_OPEN;
	if (c != '\r' && c != ' ' && c != '\t')
		return LINE_CONTENT;
	return m->nline < sizeof(m->line) ? LINE_OPEN : LINE_LONG;
}

/* The held line is a boundary. */
static enum multipart_event end_part(struct multipart *m)
{
	m->state = line_is_final(m) ? EPILOGUE : HEAD;
	m->nline = m->nhead = 0;
	if (!m->in_part)
		return MULTIPART_MORE;
	m->in_part = false;
	return MULTIPART_END;
}

/* Bytes of content; before the first part they are dropped. */
static enum multipart_event content(struct multipart *m, struct slice data)
{
	m->data = data;
	return m->in_part && data.n > 0 ? MULTIPART_DATA : MULTIPART_MORE;
}

/* Continues the held line. */
static enum multipart_event go_on_line(struct multipart *m, struct slice *piece)
{
	while (piece->n > 0) {
		enum line line = line_with(m, piece->p[0]);
		struct slice held = slice_of(m->line + m->unreal, m->nline - m->unreal);

		if (line == LINE_LONG)
			return multipart_fail(m, ERR_MULTIPART_LINE);
		if (line == LINE_CONTENT) {
			m->nline = 0;
			return content(m, held);
		}
		if (line == LINE_OPEN)
			m->line[m->nline++] = piece->p[0];
		slice_skip(piece, 1);
		if (line == LINE_BOUNDARY)
			return end_part(m);
	}
	return MULTIPART_MORE;
}

static enum multipart_event go_on_content(struct multipart *m, struct slice *piece)
{
	size_t n, found;
	struct slice data;

	if (m->nline > 0)
		return go_on_line(m, piece);
	n = find_delimiter(m, *piece);
	data = slice_of(piece->p, n);
	slice_skip(piece, n);
	found = piece->n < m->ndelimiter ? piece->n : m->ndelimiter;
	memcpy(m->line, m->delimiter, found);
	m->nline = found;
	m->unreal = 0;
	slice_skip(piece, found);
	return content(m, data);
}

/* The header section is complete; a blank line is its last. */
static enum multipart_event begin_part(struct multipart *m)
{
	const struct err *err;

	if (m->parts_left == 0)
		return multipart_fail(m, ERR_MULTIPART_PARTS);
	m->parts_left--;
	err = multipart_head_parse(m->head, m->nhead - 2, &m->part);
	if (err != NULL)
		return multipart_fail(m, err);
	m->in_part = true;
	begin_content(m);
	return MULTIPART_BEGIN;
}

/* Reads up to the end of a line. */
static enum multipart_event go_on_head(struct multipart *m, struct slice *piece)
{
	const char *lf = memchr(piece->p, '\n', piece->n);
	size_t n = lf != NULL ? (size_t)(lf + 1 - piece->p) : piece->n;
	struct slice head;

	if (n > sizeof(m->head) - m->nhead)
		return multipart_fail(m, ERR_MULTIPART_HEAD_LARGE);
	memcpy(m->head + m->nhead, piece->p, n);
	m->nhead += n;
	slice_skip(piece, n);
	head = slice_of(m->head, m->nhead);
	if (lf != NULL && !slice_ends(head, SLICE("\r\n")))
		return multipart_fail(m, ERR_MULTIPART_HEAD);
	if (slice_eq(head, SLICE("\r\n")) || slice_ends(head, SLICE("\r\n\r\n")))
		return begin_part(m);
	return MULTIPART_MORE;
}

enum multipart_event multipart_next(struct multipart *m, struct slice *piece, bool last)
{
	enum multipart_event event = MULTIPART_MORE;

	while (event == MULTIPART_MORE && m->state != EPILOGUE && m->state != FAILED) {
		if (piece->n == 0 && !last)
			return MULTIPART_MORE;
		if (piece->n > 0)
			event = m->state == HEAD ? go_on_head(m, piece) : go_on_content(m, piece);
		/* The end of all input. The CRLF of the final boundary may be missing. */
		else if (m->state == CONTENT && line_is_final(m) && m->line[m->nline - 1] != '\r')
			event = end_part(m);
		else
			event = multipart_fail(m, ERR_MULTIPART_CUT);
	}
	if (event != MULTIPART_MORE)
		return event;
	if (m->state == FAILED)
		return MULTIPART_BAD;
	slice_skip(piece, piece->n);
	return MULTIPART_DONE;
}

/* --- the header section of a part ------------------------------------------------------------- */

/* Bits of the headers and parameters seen. */
enum { DISPOSITION = 1, TYPE = 2 };
enum { NAME = 1, FILENAME = 2, FILENAME_EXT = 4 };

/* Sets bit in *seen; false if it was set. */
static bool first(unsigned *seen, unsigned bit)
{
	bool is = !(*seen & bit);

	*seen |= bit;
	return is;
}

/* Joins folded lines (RFC 5322, 2.2.3); the length without their CRLF. */
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

/* The character encoded at in[i] of a quoted name; *n: its number of bytes. */
static char name_byte(struct slice in, size_t i, size_t *n)
{
	int c;

	*n = 1;
	if (in.p[i] == '\\' && in.n - i > 1 && (in.p[i + 1] == '"' || in.p[i + 1] == '\\')) {
		*n = 2;
		return in.p[i + 1];
	}
	if (in.p[i] == '%') {
		c = path_escape_byte(in, i);
		if (c == '"' || c == '\r' || c == '\n') {
			*n = 3;
			return (char)c;
		}
	}
	return in.p[i];
}

/* A name, decoded in place; at: the bytes of p->value. */
static struct slice decode_name(const struct field_param *p, char *at)
{
	size_t o = 0, n;

	if (!p->quoted)
		return p->value;
	for (size_t i = 0; i < p->value.n; i += n)
		at[o++] = name_byte(p->value, i, &n);
	return slice_of(at, o);
}

/* UTF-8'language'%C3%A4 (RFC 8187, 3.2.1), decoded in place. */
static bool decode_ext(const struct field_param *p, char *at, struct slice *name)
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
			c = path_escape_byte(in, i);
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

/* at: see decode_name() */
static bool take_param(
	const struct field_param *p, char *at, struct multipart_part *part, unsigned *seen)
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
	enum field_param_result result;
	unsigned seen = 0;
	struct field_param p;

	if (!slice_ieq(field_trim(slice_of(value.p, n)), SLICE("form-data")))
		return ERR_MULTIPART_DISPOSITION;
	while ((result = field_param_next(&rest, &p)) == FIELD_PARAM_FOUND)
		if (!take_param(&p, head + (p.value.p - head), part, &seen))
			return ERR_MULTIPART_HEAD;
	if (result == FIELD_PARAM_BAD)
		return ERR_MULTIPART_HEAD;
	part->has_filename = seen & (FILENAME | FILENAME_EXT);
	return seen & NAME ? NULL : ERR_MULTIPART_DISPOSITION;
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
	/* RFC 7578, 4.7: content without a coding may be declared so. */
	if (slice_ieq(name, SLICE("content-transfer-encoding")) &&
		!slice_ieq(value, SLICE("binary")) && !slice_ieq(value, SLICE("8bit")) &&
		!slice_ieq(value, SLICE("7bit")))
		return ERR_MULTIPART_CODING;
	return NULL;
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
	return name->n > 0 && field_token_length(*name) == name->n && field_value_valid(*value);
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
