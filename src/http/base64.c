/*
 * base64: decodes what an encoder of RFC 4648, 4 writes and refuses all else, so that no two texts
 * mean the same bytes.
 */
#include "http/base64.h"

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes n digits, two to four, into n - 1 bytes; false if no encoder writes them. */
static bool quad(const char *p, size_t n, char *out)
{
	unsigned v = 0;

	for (size_t i = 0; i < 4; i++) {
		int d = i < n ? digit(p[i]) : 0;

		if (d < 0)
			return false;
		v = v << 6 | (unsigned)d;
	}
	/* RFC 4648, 3.5: unused bits must be zero. */
	if ((v & ((1u << 8 * (4 - n)) - 1)) != 0)
		return false;
	for (size_t i = 0; i < n - 1; i++)
		out[i] = (char)(v >> (16 - 8 * i));
	return true;
}

ssize_t base64_decode(struct slice text, void *out)
{
	char *o = out;

	if (text.n % 4 == 0)
		for (int i = 0; i < 2 && text.n > 0 && text.p[text.n - 1] == '='; i++)
			text.n--;
	if (text.n % 4 == 1)
		return -1;
	for (size_t i = 0; i < text.n; i += 4) {
		size_t n = text.n - i < 4 ? text.n - i : 4;

		if (!quad(text.p + i, n, o))
			return -1;
		o += n - 1;
	}
	return o - (char *)out;
}

void base64_encode(const void *bytes, size_t n, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16;

		if (i + 1 < n)
			v |= (unsigned)p[i + 1] << 8;
		if (i + 2 < n)
			v |= p[i + 2];
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*out++ = i + 2 < n ? digits[v & 63] : '=';
	}
}
