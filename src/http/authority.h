/*
 * authority: the one rule for Host, :authority and the target of a request (RFC 9110, 4.2 and 7.2;
 * RFC 3986, 3.2). Called by both protocols and by the request core. Pure.
 */
#pragma once

#include "base/slice.h"

/*
 * The host of an authority ("host", "host:port", "[v6]:port"), as it came, without the port and
 * without one final dot: a part of authority. n 0 if the authority is malformed: empty, an illegal
 * byte, a "%" without two hexadecimal digits, user information (RFC 9110, 4.2.4), an open bracket,
 * a port that is no number.
 */
struct slice authority_host(struct slice authority);
