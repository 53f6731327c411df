/*
 * file_name: the rules for names of uploaded files. Called once per uploaded file, for names that
 * peers bring; what it lets pass goes to openat(2), listings and location fields.
 */
#include "http/file_name.h"

#include "base/utf8.h"

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
		c = utf8_number(name.p + i, n);
		if (utf8_is_control(c))
			err = ERR_FILE_NAME_CONTROL;
		else if (utf8_is_direction(c) && err == NULL)
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
