/* authority: parses an authority by a table of bytes. */
#include "http/authority.h"

#include <stdint.h>

enum {
	DIGIT = 1,
	HEX = 2,
	NAME = 4, /* of a reg-name: unreserved and sub-delims (RFC 3986, 3.2.2) */
};

static const uint8_t class[256] = {
	['0' ... '9'] = DIGIT | HEX | NAME,
	['a' ... 'f'] = HEX | NAME,
	['A' ... 'F'] = HEX | NAME,
	['g' ... 'z'] = NAME,
	['G' ... 'Z'] = NAME,
	['!'] = NAME,
	['$'] = NAME,
	['&' ... '.'] = NAME, /* & ' ( ) * + , - . */
	[';'] = NAME,
	['='] = NAME,
	['_'] = NAME,
	['~'] = NAME,
};

static bool is(char c, uint8_t of)
{
	return class[(uint8_t)c] & of;
}

/* "[2001:db8::1]": its length, 0: none. */
static size_t literal_length(struct slice s)
{
	size_t i = 1;

	while (i < s.n && (is(s.p[i], HEX) || s.p[i] == ':' || s.p[i] == '.'))
		i++;
	return i > 1 && i < s.n && s.p[i] == ']' ? i + 1 : 0;
}

/* The number of bytes at the front that a reg-name may have. */
static size_t name_length(struct slice s)
{
	size_t i = 0;

	while (i < s.n) {
		if (is(s.p[i], NAME))
			i++;
		else if (s.p[i] == '%' && s.n - i > 2 && is(s.p[i + 1], HEX) && is(s.p[i + 2], HEX))
			i += 3;
		else
			break;
	}
	return i;
}

static bool is_port(struct slice s)
{
	size_t i = 0;

	while (i < s.n && is(s.p[i], DIGIT))
		i++;
	return i == s.n;
}

struct slice authority_host(struct slice authority)
{
	const struct slice none = { 0 };
	size_t n;

	if (authority.n == 0)
		return none;
	n = authority.p[0] == '[' ? literal_length(authority) : name_length(authority);
	if (n == 0)
		return none;
	if (n < authority.n && (authority.p[n] != ':' || !is_port(slice_of(authority.p + n + 1,
								 authority.n - n - 1))))
		return none;
	if (authority.p[n - 1] == '.')
		n--;
	return slice_of(authority.p, n);
}
