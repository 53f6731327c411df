/*
 * auth_basic: decodes base64 and splits what it finds at the first colon. Called by request/gate.c,
 * per request for a location that asks for a password; never keeps what it decoded.
 */
#include "http/auth_basic.h"

enum { SCHEME = sizeof("Basic") - 1 };

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

/* Decodes four digits, the last npad of them padding; -1 if they are not what an encoder writes. */
static int quad(const char *p, unsigned npad, char out[3])
{
	unsigned v = 0;

	for (unsigned i = 0; i < 4; i++) {
		int d = i < 4 - npad ? digit(p[i]) : 0;

		if (d < 0 || (i >= 4 - npad && p[i] != '='))
			return -1;
		v = v << 6 | (unsigned)d;
	}
	/* RFC 4648, 3.5: bits that mean nothing must be zero. */
	if (npad > 0 && (v & ((1u << 8 * npad) - 1)) != 0)
		return -1;
	out[0] = (char)(v >> 16);
	out[1] = (char)(v >> 8);
	out[2] = (char)v;
	return (int)(3 - npad);
}

/* The number of bytes, -1 if it is not base64 or too long. */
static int decode(struct slice in, char out[AUTH_BASIC_MAX + 3])
{
	int n = 0;

	if (in.n == 0 || in.n % 4 != 0 || in.n / 4 * 3 > AUTH_BASIC_MAX + 2)
		return -1;
	for (size_t i = 0; i < in.n; i += 4) {
		const char *p = in.p + i;
		unsigned npad = i + 4 < in.n || p[3] != '=' ? 0 : p[2] != '=' ? 1 : 2;
		int got = quad(p, npad, out + n);

		if (got < 0)
			return -1;
		n += got;
	}
	return n <= AUTH_BASIC_MAX ? n : -1;
}

static bool split(struct auth_basic *b, size_t n)
{
	char *colon;

	/* RFC 7617, 2: neither holds control characters. */
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)b->bytes[i] < 0x20 || b->bytes[i] == 0x7f)
			return false;
	colon = memchr(b->bytes, ':', n);
	if (colon == NULL)
		return false;
	*colon = b->bytes[n] = '\0';
	b->user = slice_of(b->bytes, (size_t)(colon - b->bytes));
	b->password = slice_of(colon + 1, n - b->user.n - 1);
	return true;
}

bool auth_basic_parse(struct slice value, struct auth_basic *b)
{
	int n;

	b->user = b->password = (struct slice){ 0 };
	if (value.n <= SCHEME || !slice_ieq(slice_of(value.p, SCHEME), SLICE("basic")) ||
		value.p[SCHEME] != ' ')
		return false;
	/* RFC 9110, 11.4: one space or more. */
	value = slice_of(value.p + SCHEME, value.n - SCHEME);
	while (value.n > 0 && value.p[0] == ' ')
		value = slice_of(value.p + 1, value.n - 1);
	n = decode(value, b->bytes);
	if (n >= 0 && split(b, (size_t)n))
		return true;
	auth_basic_wipe(b);
	return false;
}

void auth_basic_wipe(struct auth_basic *b)
{
	explicit_bzero(b, sizeof(*b));
}
