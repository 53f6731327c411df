/*
 * cookie: walks the pairs of a cookie field. Called for handlers that ask for one by its name;
 * never copies a byte, and passes over what has no "=" as browsers and other servers do.
 */
#include "http/cookie.h"

#include "http/field.h"

/* Cuts what stands in front of the next stop off *rest, and the stop. False: there is none. */
static bool cookie_cut(struct slice *rest, char stop, struct slice *head)
{
	const char *at = rest->n > 0 ? memchr(rest->p, stop, rest->n) : NULL;

	*head = slice_of(rest->p, at != NULL ? (size_t)(at - rest->p) : rest->n);
	rest->p += head->n + (at != NULL);
	rest->n -= head->n + (at != NULL);
	return at != NULL;
}

bool cookie_find(struct slice all, struct slice name, struct slice *value)
{
	struct slice pair, have;

	while (all.n > 0) {
		cookie_cut(&all, ';', &pair);
		if (!cookie_cut(&pair, '=', &have) || !slice_eq(field_trim(have), name))
			continue;
		*value = field_trim(pair);
		return true;
	}
	return false;
}
