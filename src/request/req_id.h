/*
 * req_id: a unique name of a request, by which people find it in the logs of all servers on its
 * way: that of a trusted proxy (x-request-id), or 128 random bits.
 */
#pragma once

#include "request/req.h"

/* Name of the header of requests and of answers. */
extern const struct slice req_id_field;

/* Made at the first call, then constant; n 0 when the kernel has no random bytes. */
struct slice req_id(struct h2d_req *req);

/* Random, in hexadecimal, with a NUL; n 0 likewise. On the loop. */
struct slice req_id_make(char text[2 * REQ_ID_BYTES + 1]);

/* The ID, if request-id makes it public; else n 0. */
static inline struct slice req_id_shown(struct h2d_req *req)
{
	return req->env->conf.request_ids ? req_id(req) : (struct slice){ 0 };
}
