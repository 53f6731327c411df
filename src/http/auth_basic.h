/*
 * auth_basic: the credentials of an authorization header of the Basic scheme (RFC 7617, 2),
 * decoded. Pure. They are secret: the caller of the decoder wipes them.
 */
#pragma once

#include "base/slice.h"

enum { AUTH_BASIC_MAX = 1023 }; /* bytes of user and password together; crypt(3) takes 512 */

struct auth_basic {
	struct slice user, password;    /* in bytes; each ends in a NUL and contains none */
	char bytes[AUTH_BASIC_MAX + 3]; /* base64 comes in threes */
};

/*
 * value: of an authorization header. False if it is not Basic, not base64 as RFC 4648, 4 writes it
 * (padded, no bits left over), without a colon, with a control byte, or longer than AUTH_BASIC_MAX:
 * then b holds nothing.
 */
bool auth_basic_parse(struct slice value, struct auth_basic *b);

/* Wipes all of it by explicit_bzero(). */
void auth_basic_wipe(struct auth_basic *b);
