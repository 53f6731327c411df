/*
 * req_id: a name for one request that no other has, by which people find it in the logs of all
 * servers that it came through: what a trusted proxy calls it (x-request-id), or 128 random bits.
 */
#ifndef H2D_REQUEST_REQ_ID_H
#define H2D_REQUEST_REQ_ID_H

#include "request/req.h"

/* Name of the field of requests and of answers. */
extern const struct slice req_id_field;

/* Made when somebody asks first, and the same ever after; n 0 when the kernel has no random bytes.
 */
struct slice req_id(struct h2d_req *req);

/* Its ID, if request-id says that everybody is to see it; else n 0. */
static inline struct slice req_id_shown(struct h2d_req *req)
{
	return req->env->conf.request_ids ? req_id(req) : (struct slice){ 0 };
}

#endif
