/*
 * reply_conditional: from one representation of a file, cached or open on the disk, to a response:
 * conditions, ranges, their headers. Called by reply_file.c, which finds the file.
 */
#pragma once

#include <time.h>

#include "base/arena.h"
#include "http/coding.h"
#include "http/range.h"
#include "request/body.h"
#include "request/req.h"

/*
 * body_parts: several ranges of one content as multipart/byteranges (RFC 9110, 14.6): a source that
 * joins heads and parts of another source. Made by the file replies; never reads itself.
 */

/*
 * Wraps *b, an unread source of size bytes that can seek: it becomes the source of the whole
 * multipart content, of known length. type: content-type of each part. The boundary is random, so
 * that no file can contain it. *content_type is the response's. All memory is in a. 0, or -1 when
 * memory (or randomness) is out: *b is unchanged.
 */
int body_parts(struct body *b, const struct ranges *r, uint64_t size, struct slice type,
	struct slice *content_type, struct arena *a);

/* Facts about a representation; its content is req->reply.body. All live as long as the body. */
struct reply_conditional {
	struct slice type;
	struct slice etag;          /* n 0: none */
	struct slice last_modified; /* mtime as text */
	time_t mtime;
	enum coding coding; /* CODING_IDENTITY, or the content's coding */
	bool varies;        /* accept-encoding might have chosen another one */
	bool whole;         /* it has no ranges */
};

/* The headers of cond.h that count for req, by its method (RFC 9110, 13.2.1 and 14.2). */
unsigned reply_conditional_seen(const struct h2d_req *req);

/*
 * Adds the headers of an uploaded file, once: it must not run as a page of this site. Sent with
 * every status: errors, too, have content. 0, or -1 when memory is out.
 */
int reply_conditional_sandbox(struct h2d_req *req);

/* Answers with it, or by conditions and ranges. seen: see above. */
void reply_conditional(struct h2d_req *req, const struct reply_conditional *r, unsigned seen);

/* True if the conditions of req allow sending it, with or without content; see above. */
bool reply_conditional_proceeds(
	const struct h2d_req *req, struct slice etag, time_t mtime, unsigned seen);

/* Answers with it as the content of an error: no validators, no conditions, no ranges. */
void reply_conditional_page(struct h2d_req *req, const struct reply_conditional *r, int status);

/* Closes the body; answers with the page for status. Present headers stay. */
void reply_conditional_error(struct h2d_req *req, int status);

/* reply_conditional_error() with 503; the log has the reason. */
void reply_conditional_no_memory(struct h2d_req *req);

/* reply_conditional_error() for a status that accept-encoding decided, or could have (406, 412). */
void reply_conditional_refuse(struct h2d_req *req, bool varies, int status);
