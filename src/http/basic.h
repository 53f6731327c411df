/*
 * basic: the credentials of an authorization field of the Basic scheme (RFC 7617, 2), decoded. Pure.
 * They are secret: whoever decodes them wipes them.
 */
#ifndef H2D_HTTP_BASIC_H
#define H2D_HTTP_BASIC_H

#include "base/slice.h"

enum { BASIC_MAX = 1023 }; /* bytes of user and password together; crypt(3) takes 512 */

struct basic {
	struct slice user, password; /* in bytes; each is followed by a NUL and holds none */
	char bytes[BASIC_MAX + 3]; /* base64 comes in threes */
};

/*
 * value: of an authorization field. False if it is not Basic, not base64 as RFC 4648, 4 writes it
 * (padded, no bits left over), without a colon, with a control byte, or longer than BASIC_MAX: then b holds
 * nothing.
 */
bool basic_parse(struct slice value, struct basic *b);

/* explicit_bzero() of all of it. */
void basic_wipe(struct basic *b);

#endif
