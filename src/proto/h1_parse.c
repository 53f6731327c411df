/*
 * h1_parse: a byte is looked up in a table of classes, unless it is one of eight that are taken at
 * once, and a line ends with CRLF.
 */
#include "proto/h1_parse.h"

enum {
	TCHAR = 1,  /* of a token (RFC 9110, 5.6.2) */
	TARGET = 2, /* of a request target: no white space, no control byte */
	VALUE = 4,  /* of a header's value (RFC 9110, 5.5): VCHAR, obs-text, SP, HTAB */
	UPPER = 32, /* 'A' to 'Z': the bit that makes it lower case */
	PIECE_MIN = 128,
	PIECE_FIRST = 512,
};

static const uint8_t class[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['"'] = VALUE | TARGET,
	['('] = VALUE | TARGET,
	[')'] = VALUE | TARGET,
	[','] = VALUE | TARGET,
	['/'] = VALUE | TARGET,
	[':' ... '@'] = VALUE | TARGET,
	['[' ... ']'] = VALUE | TARGET,
	['{'] = VALUE | TARGET,
	['}'] = VALUE | TARGET,
	['!'] = VALUE | TARGET | TCHAR,
	['#' ... '\''] = VALUE | TARGET | TCHAR,
	['*'] = VALUE | TARGET | TCHAR,
	['+'] = VALUE | TARGET | TCHAR,
	['-'] = VALUE | TARGET | TCHAR,
	['.'] = VALUE | TARGET | TCHAR,
	['0' ... '9'] = VALUE | TARGET | TCHAR,
	['A' ... 'Z'] = VALUE | TARGET | TCHAR | UPPER,
	['^' ... 'z'] = VALUE | TARGET | TCHAR,
	['|'] = VALUE | TARGET | TCHAR,
	['~'] = VALUE | TARGET | TCHAR,
	[0x80 ... 0xff] = VALUE | TARGET,
};

enum state {
	METHOD,
	IN_TARGET,
	IN_VERSION,
	FIELD, /* the first byte of a line */
	NAME,
	BLANK, /* between the colon and the value */
	IN_VALUE,
	VALUE_LF,
	END_LF,
	OVER,
};

static enum h1_parsed fault(struct h1_parse *p, const struct err *err)
{
	p->err = err;
	p->state = OVER;
	return H1_FAULT;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Makes room for more; moves the line under way, complete lines stay. */
static int h1_parse_grow(struct h1_parse *p, size_t coming)
{
	size_t have = (size_t)(p->at - p->line);
	size_t room = coming < PIECE_FIRST ? coming : PIECE_FIRST;
	char *to;

	if (room < PIECE_MIN)
		room = PIECE_MIN;
	if (room < have)
		room = have;
	to = arena_alloc(p->arena, have + room);
	if (to == NULL)
		return -1;
	if (have > 0)
		memcpy(to, p->line, have);
	p->line = to;
	p->at = to + have;
	p->end = to + have + room;
	return 0;
}

/* The two parts of the line that has ended; the next one begins. The NUL after each replaces a byte
 * that was read and not kept. */
static void parts(struct h1_parse *p, struct slice *first, struct slice *second)
{
	char *line = p->line, *at = p->at;
	size_t n = p->first;

	*first = slice_of(line, n);
	*second = slice_of(line + n + 1, (size_t)(at - line) - n - 1);
	*at++ = '\0';
	if (p->discard)
		p->at = line;
	else
		p->line = p->at = at;
}

/* --- states: each takes bytes from *from, and hands on to the next; H1_MORE: stop is reached ---
 */

/* True if eight bytes are all least at least, which is 0x80 at most, and none is DEL. */
static inline bool all_from(uint64_t eight, uint8_t least)
{
	const uint64_t each = 0x0101010101010101u;
	uint64_t del = eight ^ 0x7f * each;

	return ((((eight - least * each) & ~eight) | ((del - each) & ~del)) & 0x80 * each) == 0;
}

/* Takes the bytes of one class; true when another one follows. */
static inline bool h1_parse_run(
	struct h1_parse *p, const uint8_t **from, const uint8_t *stop, uint8_t of)
{
	const uint8_t *s = *from;
	char *at = p->at;

	while (s < stop && class[*s] & of)
		*at++ = (char)*s++;
	p->at = at;
	*from = s;
	return s < stop;
}

/* h1_parse_run() for a class of all bytes from least on except DEL: eight at once if possible. */
static inline bool run_long(
	struct h1_parse *p, const uint8_t **from, const uint8_t *stop, uint8_t of, uint8_t least)
{
	for (uint64_t eight; stop - *from >= 8; *from += 8, p->at += 8) {
		memcpy(&eight, *from, 8);
		if (!all_from(eight, least))
			break;
		memcpy(p->at, &eight, 8);
	}
	return h1_parse_run(p, from, stop, of);
}

/* Takes the bytes of a name, as lower case; true when another one follows. */
static inline bool run_name(struct h1_parse *p, const uint8_t **from, const uint8_t *stop)
{
	const uint8_t *s = *from;
	char *at = p->at;

	for (; s < stop && class[*s] & TCHAR; s++)
		*at++ = (char)(*s | (class[*s] & UPPER));
	p->at = at;
	*from = s;
	return s < stop;
}

/* Takes the byte that ends the first part of a line. */
static bool first_ends(struct h1_parse *p, uint8_t c, uint8_t with, enum state next)
{
	char *at = p->at;
	size_t n = (size_t)(at - p->line);

	p->at = at + 1;
	p->first = n;
	p->state = next;
	*at = '\0';
	return c == with && n > 0;
}

/* RFC 9112, 2.3: case-sensitive; a higher minor version is served as 1.1 (RFC 9110, 2.5). */
static enum h1_parsed version(struct h1_parse *p, uint8_t c)
{
	static const char pattern[] = "HTTP/0.0\r\n";
	char want = pattern[p->nversion];

	if (want == '0' ? c < '0' || c > '9' : c != (uint8_t)want) {
		parts(p, &p->method, &p->target);
		return fault(p, ERR_REQUEST_LINE);
	}
	if (p->nversion == 5)
		p->major = (char)c;
	if (p->nversion == 7)
		p->minor = c > '0';
	if (++p->nversion < sizeof(pattern) - 1)
		return H1_MORE;
	parts(p, &p->method, &p->target);
	if (p->major != '1')
		return fault(p, ERR_HTTP_VERSION);
	p->state = FIELD;
	return H1_LINE;
}

/* The end of nearly every request line, if it has come whole. */
static bool ends_as_mostly(struct h1_parse *p, const uint8_t **from, const uint8_t *stop)
{
	static const char mostly[] = "HTTP/1.1\r\n";
	const size_t n = sizeof(mostly) - 1;

	if (p->nversion > 0 || (size_t)(stop - *from) < n || memcmp(*from, mostly, n) != 0)
		return false;
	*from += n;
	p->minor = 1;
	parts(p, &p->method, &p->target);
	p->state = FIELD;
	return true;
}

static enum h1_parsed line_step(struct h1_parse *p, const uint8_t **from, const uint8_t *stop)
{
	enum h1_parsed found = H1_MORE;

	switch (p->state) {
	case METHOD:
		if (!h1_parse_run(p, from, stop, TCHAR))
			return H1_MORE;
		if (!first_ends(p, *(*from)++, ' ', IN_TARGET))
			return fault(p, ERR_REQUEST_LINE);
		__attribute__((fallthrough));
	case IN_TARGET:
		if (!run_long(p, from, stop, TARGET, ' ' + 1))
			return H1_MORE;
		if (*(*from)++ != ' ' || (size_t)(p->at - p->line) == p->first + 1)
			return fault(p, ERR_REQUEST_LINE);
		p->nversion = 0;
		p->state = IN_VERSION;
		__attribute__((fallthrough));
	default:
		if (ends_as_mostly(p, from, stop))
			return H1_LINE;
		while (*from < stop && found == H1_MORE)
			found = version(p, *(*from)++);
		return found;
	}
}

static enum h1_parsed field_ends(struct h1_parse *p)
{
	while (p->at[-1] == ' ' || p->at[-1] == '\t')
		p->at--;
	parts(p, &p->name, &p->value);
	p->state = FIELD;
	return H1_FIELD;
}

static enum h1_parsed field_step(struct h1_parse *p, const uint8_t **from, const uint8_t *stop)
{
	switch (p->state) {
	case FIELD:
		if (**from == '\r') {
			++*from;
			p->state = END_LF;
			return H1_MORE;
		}
		/* White space here would be a folded line (RFC 9112, 5.2): no name begins with it.
		 */
		p->state = NAME;
		__attribute__((fallthrough));
	case NAME:
		if (!run_name(p, from, stop))
			return H1_MORE;
		/* RFC 9112, 5.1: no white space before the colon. */
		if (!first_ends(p, *(*from)++, ':', BLANK))
			return fault(p, ERR_FIELD_LINE);
		__attribute__((fallthrough));
	case BLANK:
		while (*from < stop && (**from == ' ' || **from == '\t'))
			++*from;
		if (*from == stop)
			return H1_MORE;
		p->state = IN_VALUE;
		__attribute__((fallthrough));
	case IN_VALUE:
		if (!run_long(p, from, stop, VALUE, ' '))
			return H1_MORE;
		if (*(*from)++ != '\r')
			return fault(p, ERR_FIELD_LINE);
		p->state = VALUE_LF;
		if (*from == stop)
			return H1_MORE;
		__attribute__((fallthrough));
	case VALUE_LF:
		return *(*from)++ == '\n' ? field_ends(p) : fault(p, ERR_FIELD_LINE);
	default: /* END_LF */
		p->state = OVER;
		return *(*from)++ == '\n' ? H1_END : fault(p, ERR_FIELD_LINE);
	}
}

/* --- the outside ------------------------------------------------------------------------------ */

size_t h1_parse_blank(struct h1_parse *p, const uint8_t *data, size_t n)
{
	size_t i = 0;

	while (i < n && p->empty < 2 * H1_EMPTY_LINES && data[i] == "\r\n"[p->empty % 2]) {
		p->empty++;
		i++;
	}
	return i;
}

void h1_parse_begin(struct h1_parse *p, struct arena *arena, size_t limit)
{
	unsigned empty = p->empty;

	memset(p, 0, sizeof(*p));
	p->arena = arena;
	p->limit = p->left = limit;
	if (empty % 2 != 0) /* a CR without LF */
		p->err = ERR_REQUEST_LINE;
}

void h1_parse_fields(struct h1_parse *p, bool kept)
{
	p->state = FIELD;
	p->discard = !kept;
	p->left = p->limit;
}

enum h1_parsed h1_parse_next(struct h1_parse *p, const uint8_t **data, const uint8_t *end)
{
	if (p->err != NULL)
		return fault(p, p->err);
	while (*data < end) {
		const uint8_t *s = *data, *stop = end;
		enum h1_parsed found;

		if (p->left == 0)
			return fault(p, p->state <= IN_VERSION ? ERR_TARGET_TOO_LONG
							       : ERR_FIELDS_TOO_LARGE);
		if (p->at == p->end && h1_parse_grow(p, (size_t)(end - s)) < 0)
			return fault(p, ERR_NO_MEMORY);
		/* No step keeps more bytes than it takes. */
		if (end - s > p->end - p->at)
			stop = s + (p->end - p->at);
		if ((size_t)(stop - s) > p->left)
			stop = s + p->left;
		found = p->state <= IN_VERSION ? line_step(p, data, stop)
					       : field_step(p, data, stop);
		p->left -= (size_t)(*data - s);
		if (found == H1_LINE)
			p->left = p->limit;
		if (found != H1_MORE)
			return found;
	}
	return H1_MORE;
}
