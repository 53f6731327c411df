/*
 * reply_conditional: from one representation of a file, cached or open on the disk, to a response:
 * conditions, ranges, the fields that go with it. Called by reply_file.c, which finds the file;
 * never looks for one.
 */
#ifndef H2D_FILES_REPLY_CONDITIONAL_H
#define H2D_FILES_REPLY_CONDITIONAL_H

#include <time.h>

#include "base/arena.h"
#include "http/coding.h"
#include "http/range.h"
#include "request/body.h"
#include "request/req.h"

/*
 * body_parts: several ranges of one content as multipart/byteranges (RFC 9110, 14.6): a source that
 * strings heads and parts of another source together. Made by the file replies; never reads
 * anything itself.
 */

/*
 * Wraps *b, a source of size bytes that can seek and of which nothing was read: it becomes the
 * source of the whole multipart content, its length known. type: content-type of each part. The
 * boundary is random, so that nobody can put it into a file. *content_type is what the response
 * says. All of it lies in a. 0, or -1 when memory (or randomness) is out: *b is as it was.
 */
int body_parts(struct body *b, const struct ranges *r, uint64_t size, struct slice type,
	struct slice *content_type, struct arena *a);

/* Facts about a representation; its content is req->reply.body. All live as long as that. */
struct reply_conditional {
	struct slice type;
	struct slice etag;          /* n 0: none */
	struct slice last_modified; /* mtime as text */
	time_t mtime;
	enum coding coding; /* CODING_IDENTITY, or what the content is coded by */
	bool varies;        /* accept-encoding might have chosen another one */
};

/* The fields of cond.h that count for req, by its method (RFC 9110, 13.2.1 and 14.2). */
unsigned reply_conditional_seen(const struct h2d_req *req);

/*
 * Adds the fields of a file that strangers uploaded, once: it must not run as a page of this site.
 * Said with every status: errors, too, carry content. 0, or -1 when memory is out.
 */
int reply_conditional_sandbox(struct h2d_req *req);

/* Answers with it, or with what conditions and ranges make of it. seen: see above. */
void reply_conditional(struct h2d_req *req, const struct reply_conditional *r, unsigned seen);

/* Whether the conditions of req let it be sent, with or without content; see above. */
bool reply_conditional_proceeds(
	const struct h2d_req *req, struct slice etag, time_t mtime, unsigned seen);

/* Answers with it as the content of an error: no validators, no conditions, no ranges. */
void reply_conditional_page(struct h2d_req *req, const struct reply_conditional *r, int status);

/* Closes the body; answers with the page for status. Fields that are there stay. */
void reply_conditional_error(struct h2d_req *req, int status);

/* As reply_conditional_error() with 503; the log says why. */
void reply_conditional_no_memory(struct h2d_req *req);

/* As reply_conditional_error(), for a status that accept-encoding decided, or could have (406,
 * 412). */
void reply_conditional_refuse(struct h2d_req *req, bool varies, int status);

#endif
