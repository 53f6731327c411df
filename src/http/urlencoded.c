/* urlencoded: splits pairs and decodes them in place, as they only get shorter. */
#include "http/urlencoded.h"

#include "http/path.h"

size_t urlencoded_count(struct slice in)
{
	size_t n = 0;

	for (size_t i = 0; i < in.n; i++)
		n += in.p[i] != '&' && (i == 0 || in.p[i - 1] == '&');
	return n;
}

/* Decodes n bytes at p, and appends a NUL: over one of them, or over a byte that was read
 * before. */
static struct slice decode(char *p, size_t n)
{
	struct slice in = slice_of(p, n);
	char *out = p;

	for (size_t i = 0; i < n; i++) {
		int byte = p[i] == '%' ? path_escape_byte(in, i) : -1;

		*out++ = byte >= 0 ? (char)byte : p[i] == '+' ? ' ' : p[i];
		i += byte >= 0 ? 2 : 0;
	}
	*out = '\0';
	return slice_of(p, (size_t)(out - p));
}

static size_t length_before(const char *p, size_t n, char stop)
{
	const char *at = memchr(p, stop, n);

	return at != NULL ? (size_t)(at - p) : n;
}

void urlencoded_decode(char *p, size_t n, struct field *pairs)
{
	char *end = p + n;

	while (p < end) {
		size_t whole = length_before(p, (size_t)(end - p), '&');
		size_t name = length_before(p, whole, '=');

		if (whole > 0) {
			size_t equals = name < whole;

			*pairs++ = (struct field){ decode(p, name),
				decode(p + name + equals, whole - name - equals) };
		}
		p += whole + 1;
	}
}
