/* h1_chunk: a state machine that parses a chunked body byte by byte, with extensions. */
#include "proto/h1_parse.h"

#include "http/field.h"
#include "http/path.h"

enum state {
	SIZE, /* 1*HEXDIG */
	/* Parts of an extension (RFC 9112, 7.1.1); AT_: white space may come first (BWS). */
	AT_SEMICOLON,
	AT_NAME,
	NAME,
	AT_EQUALS,
	AT_VALUE,
	VALUE,
	QUOTED,
	ESCAPED,
	BEHIND_QUOTED,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
};

static enum h1_chunked h1_chunk_go(struct h1_chunk *c, bool legal, enum state next)
{
	c->state = next;
	return legal ? H1_CHUNK_MORE : H1_CHUNK_FAULT;
}

static enum h1_chunked size(struct h1_chunk *c, uint8_t ch)
{
	int value = path_hex_digit((char)ch);

	if (value >= 0) {
		c->size = c->size << 4 | (unsigned)value;
		return ++c->n <= H1_CHUNK_DIGITS ? H1_CHUNK_MORE : H1_CHUNK_FAULT;
	}
	if (c->n == 0)
		return H1_CHUNK_FAULT;
	c->n = 0;
	switch (ch) {
	case '\r':
		return h1_chunk_go(c, true, SIZE_LF);
	case ' ':
	case '\t':
		return h1_chunk_go(c, true, AT_SEMICOLON);
	default:
		return h1_chunk_go(c, ch == ';', AT_NAME);
	}
}

/* Bytes after the end of a name or a value; blank: the state for white space. */
static enum h1_chunked h1_chunk_behind(struct h1_chunk *c, uint8_t ch, enum state blank)
{
	switch (ch) {
	case '\r':
		return h1_chunk_go(c, true, SIZE_LF);
	case ';':
		return h1_chunk_go(c, true, AT_NAME);
	case '=':
		return h1_chunk_go(c, c->state == NAME, AT_VALUE);
	default:
		return h1_chunk_go(c, ch == ' ' || ch == '\t', blank);
	}
}

/* Checks the grammar, so that no other reader finds the line's end elsewhere. */
static enum h1_chunked extension(struct h1_chunk *c, uint8_t ch)
{
	bool blank = ch == ' ' || ch == '\t';

	if ((ch < 0x20 && ch != '\t' && ch != '\r') || ch == 0x7f)
		return H1_CHUNK_FAULT;
	if (ch != '\r' && ++c->n > H1_CHUNK_EXTENSION)
		return H1_CHUNK_FAULT;
	switch (c->state) {
	case AT_SEMICOLON:
		return blank ? H1_CHUNK_MORE : h1_chunk_go(c, ch == ';', AT_NAME);
	case AT_NAME:
		return blank ? H1_CHUNK_MORE : h1_chunk_go(c, field_is_tchar(ch), NAME);
	case NAME:
		return field_is_tchar(ch) ? H1_CHUNK_MORE : h1_chunk_behind(c, ch, AT_EQUALS);
	case AT_EQUALS:
		if (blank)
			return H1_CHUNK_MORE;
		return ch == ';' ? h1_chunk_go(c, true, AT_NAME)
				 : h1_chunk_go(c, ch == '=', AT_VALUE);
	case AT_VALUE:
		if (blank)
			return H1_CHUNK_MORE;
		return ch == '"' ? h1_chunk_go(c, true, QUOTED)
				 : h1_chunk_go(c, field_is_tchar(ch), VALUE);
	case VALUE:
		return field_is_tchar(ch) ? H1_CHUNK_MORE : h1_chunk_behind(c, ch, AT_SEMICOLON);
	case QUOTED:
		if (ch == '"' || ch == '\\')
			return h1_chunk_go(c, true, ch == '"' ? BEHIND_QUOTED : ESCAPED);
		return h1_chunk_go(c, ch != '\r', QUOTED);
	case ESCAPED:
		return h1_chunk_go(c, ch != '\r', QUOTED);
	default: /* BEHIND_QUOTED */
		return h1_chunk_behind(c, ch, AT_SEMICOLON);
	}
}

static enum h1_chunked step(struct h1_chunk *c, uint8_t ch)
{
	switch (c->state) {
	case SIZE:
		return size(c, ch);
	case SIZE_LF:
		if (ch == '\n' && c->size == 0)
			return H1_CHUNK_LAST;
		return h1_chunk_go(c, ch == '\n', DATA);
	case DATA_CR:
		return h1_chunk_go(c, ch == '\r', DATA_LF);
	case DATA_LF:
		c->n = 0;
		return h1_chunk_go(c, ch == '\n', SIZE);
	default:
		return extension(c, ch);
	}
}

enum h1_chunked h1_chunk_next(
	struct h1_chunk *c, const uint8_t **data, const uint8_t *end, struct slice *piece)
{
	while (*data < end) {
		enum h1_chunked found;

		if (c->state == DATA) {
			size_t n = (size_t)(end - *data);

			if (n > c->size)
				n = (size_t)c->size;
			*piece = slice_of(*data, n);
			*data += n;
			c->size -= n;
			if (c->size == 0)
				c->state = DATA_CR;
			return H1_CHUNK_DATA;
		}
		found = step(c, *(*data)++);
		if (found != H1_CHUNK_MORE)
			return found;
	}
	return H1_CHUNK_MORE;
}
