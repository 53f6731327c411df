/* auth_basic: decodes base64 and splits it at the first colon. */
#include "http/auth_basic.h"

#include "http/base64.h"

enum { SCHEME = sizeof("Basic") - 1 };

static bool split(struct auth_basic *b, size_t n)
{
	char *colon;

	/* RFC 7617, 2: neither may have control characters. */
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
	ssize_t n;

	b->user = b->password = (struct slice){ 0 };
	if (value.n <= SCHEME || !slice_ieq(slice_of(value.p, SCHEME), SLICE("basic")) ||
		value.p[SCHEME] != ' ')
		return false;
	/* RFC 9110, 11.4: one space or more. */
	slice_skip(&value, SCHEME);
	slice_skip_any(&value, " ");
	/* Padded, and not too long for b. */
	n = value.n == 0 || value.n % 4 != 0 || value.n / 4 * 3 > AUTH_BASIC_MAX + 2
		    ? -1
		    : base64_decode(value, b->bytes);
	if (n >= 0 && n <= AUTH_BASIC_MAX && split(b, (size_t)n))
		return true;
	auth_basic_wipe(b);
	return false;
}

void auth_basic_wipe(struct auth_basic *b)
{
	explicit_bzero(b, sizeof(*b));
}
