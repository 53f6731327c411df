/* h1_chunk: see h1_chunk.h. Called by h1_stream for bodies that are chunked. */
#include "proto/h1_chunk.h"

enum state {
	SIZE,       /* 1*HEXDIG */
	BLANK,      /* white space before an extension (RFC 9112, 7.1.1: BWS) */
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
};

/* Value of a hexadecimal digit and one more; 0 for all other bytes. */
static const uint8_t digit[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
	['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static enum h1_chunked go(struct h1_chunk *c, bool legal, enum state next)
{
	c->state = next;
	return legal ? H1_CHUNK_MORE : H1_CHUNK_FAULT;
}

static enum h1_chunked size(struct h1_chunk *c, uint8_t ch)
{
	if (digit[ch] != 0) {
		c->size = c->size << 4 | (digit[ch] - 1u);
		return ++c->n <= H1_CHUNK_DIGITS ? H1_CHUNK_MORE : H1_CHUNK_FAULT;
	}
	if (c->n == 0)
		return H1_CHUNK_FAULT;
	c->n = 0;
	switch (ch) {
	case '\r':
		return go(c, true, SIZE_LF);
	case ' ':
	case '\t':
		return go(c, true, BLANK);
	default:
		return go(c, ch == ';', EXTENSION);
	}
}

/* What it says is nobody's business here, but it must not hide the end of its line. */
static enum h1_chunked extension(struct h1_chunk *c, uint8_t ch)
{
	if (ch == '\r')
		return go(c, true, SIZE_LF);
	if ((ch < 0x20 && ch != '\t') || ch == 0x7f)
		return H1_CHUNK_FAULT;
	return ++c->n <= H1_CHUNK_EXTENSION ? H1_CHUNK_MORE : H1_CHUNK_FAULT;
}

static enum h1_chunked step(struct h1_chunk *c, uint8_t ch)
{
	switch (c->state) {
	case SIZE:
		return size(c, ch);
	case BLANK:
		if (ch == ' ' || ch == '\t')
			return ++c->n <= H1_CHUNK_EXTENSION ? H1_CHUNK_MORE : H1_CHUNK_FAULT;
		return go(c, ch == ';', EXTENSION);
	case EXTENSION:
		return extension(c, ch);
	case SIZE_LF:
		if (ch == '\n' && c->size == 0)
			return H1_CHUNK_LAST;
		return go(c, ch == '\n', DATA);
	case DATA_CR:
		return go(c, ch == '\r', DATA_LF);
	default: /* DATA_LF */
		c->n = 0;
		return go(c, ch == '\n', SIZE);
	}
}

enum h1_chunked h1_chunk_next(struct h1_chunk *c, const uint8_t **data, const uint8_t *end,
	struct slice *piece)
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
