/*
 * file_name: the rules for names of uploaded files. Called once per uploaded file, for names that
 * peers bring; what it lets pass goes to openat(2), listings and location fields.
 */
#include "http/file_name.h"

#include "base/utf8.h"

/* The number of a character that utf8_sequence() says has n bytes. */
static uint32_t code_point(const char *p, size_t n)
{
	uint32_t c = (unsigned char)p[0];

	if (n == 1)
		return c;
	c &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* Unicode's Cc, Zl and Zp */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/* Unicode's explicit formatting characters (UAX 9, 2): embeddings, overrides, isolates. */
static bool is_direction(uint32_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static bool has_slash(struct slice name)
{
	return memchr(name.p, '/', name.n) != NULL || memchr(name.p, '\\', name.n) != NULL;
}

struct slice file_name_last(struct slice name)
{
	size_t i = name.n;

	while (i > 0 && name.p[i - 1] != '/' && name.p[i - 1] != '\\')
		i--;
	return slice_of(name.p + i, name.n - i);
}

static const struct err *check_characters(struct slice name)
{
	const struct err *err = NULL;

	for (size_t i = 0, n; i < name.n; i += n) {
		uint32_t c;

		n = utf8_sequence(slice_of(name.p + i, name.n - i));
		if (n == 0)
			return ERR_FILE_NAME_UTF8;
		c = code_point(name.p + i, n);
		if (is_control(c))
			err = ERR_FILE_NAME_CONTROL;
		else if (is_direction(c) && err == NULL)
			err = ERR_FILE_NAME_DIRECTION;
	}
	return err;
}

const struct err *file_name_check(struct slice name)
{
	if (name.n == 0)
		return ERR_FILE_NAME_EMPTY;
	if (name.n > FILE_NAME_LEN_MAX)
		return ERR_FILE_NAME_LONG;
	if (name.p[0] == '.')
		return ERR_FILE_NAME_DOT;
	if (has_slash(name))
		return ERR_FILE_NAME_SLASH;
	return check_characters(name);
}
