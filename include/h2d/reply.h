/*
 * h2d/reply.h: the calls by which a handler answers: fields and interim responses, then one reply.
 * Included by h2d/handler.h, which says when they may be made.
 */
#ifndef H2D_REPLY_H
#define H2D_REPLY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;

/*
 * Adds a response field; name in lower case, both end in NUL and are copied. Before the reply call.
 * date, server and content-type take the place of what the response would say else. 0, or -1 when
 * the request's memory is spent, there are more than 44 fields, the field is malformed (RFC 9110,
 * 5.5), or it is the server's to say how the message comes: connection, content-length, keep-alive,
 * proxy-connection, te, trailer, transfer-encoding, upgrade. The response is then as it was.
 */
int h2d_reply_field(struct h2d_req *req, const char *name, const char *value);

/* A field; both end in NUL. */
struct h2d_field {
	const char *name, *value;
};

/*
 * Sends an interim response (RFC 9110, 15.2) with n fields (up to 16, copied, none of them the
 * server's to say) in front of the reply, and nothing of the reply's own: 103, by which a browser
 * loads what field link names while the reply is made (RFC 8297), or 102, a sign of life. status:
 * 102–199. 0, also where the client speaks HTTP/1.0, which has no such thing, and gets none; or -1
 * when a field is malformed or there are too many, or all of them in this request come to more than
 * 64000 bytes: nothing is sent then. Some clients of HTTP/1.1 take it for the reply: ask whether
 * this one wants it (browsers say sec-fetch-mode: navigate).
 */
int h2d_reply_interim(struct h2d_req *req, int status, const struct h2d_field *fields, unsigned n);

/*
 * Answers with status (200–599), a content type (NULL for none) and len bytes of data (NULL only
 * with len 0); type and data are copied. HEAD, 204 and 304 send no content. Never fails: without
 * memory it becomes a 503, with a type that is no field value (a line end in it would split the
 * response) a 500, and the log says so.
 */
void h2d_reply_bytes(
	struct h2d_req *req, int status, const char *type, const void *data, size_t len);

/* Answers OPTIONS (RFC 9110, 9.3.7) as the server does for a route that has no row for it: with the
 * methods of the path. */
void h2d_reply_options(struct h2d_req *req);

/* Answers with the site's error page for status (400–599), or a small one of h2d's own. */
void h2d_reply_error(struct h2d_req *req, int status);

/* Where a file's name starts from. */
enum h2d_tree {
	H2D_DOCUMENT_ROOT,
	H2D_UPLOAD_DIR, /* 404 for everything if the configuration names none */
};

/*
 * Answers with the file path names below tree, "/" first, len decoded bytes, which are copied.
 * Conditions, ranges, codings, HEAD, index files, redirects from "/dir" to "/dir/", types, 404 and
 * 403 are handled here, from the cache image or the disk.
 */
void h2d_reply_file(struct h2d_req *req, enum h2d_tree tree, const char *path, size_t len);

/* Answers of a fill beside a number of bytes. */
enum { H2D_LATER = -1, H2D_FAIL = -2 };

/*
 * Writes up to cap bytes (at least one) of content into buf, which is the server's. Returns how
 * many it wrote, 0 at the end, H2D_LATER when there is nothing yet (then h2d_resume() once there
 * is), or H2D_FAIL to cut the response off. Called whenever the client can take more, never after
 * gone(); and one that answered H2D_LATER once more when its worker is to leave: a stream without
 * an end, of events say, ends then (h2d_draining()), and its client asks the next worker.
 */
typedef ssize_t h2d_fill(struct h2d_req *req, void *state, char *buf, size_t cap);

/* Answers with status (200–599), a content type (NULL for none; copied) and what fill writes.
 * Without memory it becomes a 503. */
void h2d_reply_stream(struct h2d_req *req, int status, const char *type, h2d_fill *fill);

/*
 * As h2d_reply_stream(), where it is known that content has length bytes: the client is told so. A
 * fill that ends before, or has more, is a mistake: the log says so, and the response is cut off,
 * so that nobody takes it for whole. To find out, fill is asked once more when it has written them.
 */
void h2d_reply_stream_sized(
	struct h2d_req *req, int status, const char *type, uint64_t length, h2d_fill *fill);

/*
 * Adds a field behind the content (RFC 9110, 6.5), a checksum say, which is not known before: from
 * fill, up to the call that answers 0, or at any time between h2d_reply_stream() and that. As for
 * h2d_reply_field(), but up to 32 fields of 32000 bytes together; 0, or -1: also where the reply is
 * no stream, is one that is sized, or is at its end. A client may drop them unless its field te
 * says trailers; one of HTTP/1.0 does not get them, nor does HEAD.
 */
int h2d_reply_trailer(struct h2d_req *req, const char *name, const char *value);

/* A fill that answered H2D_LATER has bytes now. Harmless at any other time before gone(). */
void h2d_resume(struct h2d_req *req);

#ifdef __cplusplus
}
#endif

#endif
