/*
 * coded: compresses the content of an application's response on the way to the client (key
 * compress-responses). On the loop's thread.
 */
#pragma once

#include "request/req.h"

/*
 * Compresses the content of the reply, which is complete but for reply_send(), unless the location,
 * the client or a header of the response forbids it, or the client's share of CODED_MAX is used up.
 */
void coded_begin(struct h2d_req *req, int status);
