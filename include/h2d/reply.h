/*
 * h2d/reply.h: how a handler answers: response headers and interim responses, then one reply.
 * Included by h2d/handler.h, which defines when a handler may call them.
 */
#ifndef H2D_REPLY_H
#define H2D_REPLY_H

#include "h2d/log.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;

/*
 * Adds a response header, before the reply. name is in lower case; both are copied. date, server
 * and content-type replace h2d's own. Returns 0, or -1 with the response unchanged: the request's
 * memory is used up, the header is malformed (RFC 9110, 5.5), or only h2d may set it (connection,
 * content-length, keep-alive, proxy-connection, te, trailer, transfer-encoding, upgrade). Headers
 * of over 64000 bytes together become 500.
 */
int h2d_reply_header(struct h2d_req *req, const char *name, const char *value);

/* A header. */
struct h2d_header {
	const char *name, *value;
};

/*
 * Sends an interim response (RFC 9110, 15.2) with n headers (up to 16, copied, none that only h2d
 * may set) before the reply. status is 102–199: with 103 a browser loads the targets of the header
 * link while the handler makes the reply (RFC 8297), and 102 shows that the server is still
 * working. Returns 0, even if the client gets none because it speaks HTTP/1.0; or -1 with nothing
 * sent: a header is malformed, there are too many, or the request's interim responses exceed 64000
 * bytes. Some HTTP/1.1 clients mistake it for the reply, so check the client first (browsers send
 * sec-fetch-mode: navigate).
 */
int h2d_reply_interim(
	struct h2d_req *req, int status, const struct h2d_header *headers, unsigned n);

/*
 * Answers with status (200–599), a content type (NULL: none) and len bytes of data (NULL only if
 * len is 0). type and data are copied. HEAD, 204 and 304 send no content. If memory is used up, the
 * answer is 503. If type is not a valid header value (a line end would split the response), it is
 * 500. Both are logged.
 */
void h2d_reply_bytes(
	struct h2d_req *req, int status, const char *type, const void *data, size_t len);

/* Like h2d_reply_bytes(), without copying: the bytes of data must not change. h2d calls
 * release(data) once, when it no longer uses them, also if it ignores the reply; NULL: data is
 * static. */
void h2d_reply_memory(struct h2d_req *req, int status, const char *type, const void *data,
	size_t len, void (*release)(void *data));

/* Content types. */
#define H2D_TEXT "text/plain; charset=utf-8"
#define H2D_HTML "text/html; charset=utf-8"
#define H2D_JSON "application/json"

/* Like h2d_reply_bytes(): text of type H2D_TEXT; a string that is JSON; printf(3) of fmt. */
void h2d_reply_text(struct h2d_req *req, int status, const char *text);
void h2d_reply_json(struct h2d_req *req, int status, const char *json);
void h2d_reply_printf(struct h2d_req *req, int status, const char *type, const char *fmt, ...)
	H2D_PRINTF(4, 5);

/* Redirects the client to location with status 301, 302, 303, 307 or 308. An invalid location
 * becomes 500, and is logged. */
void h2d_reply_redirect(struct h2d_req *req, int status, const char *location);

/*
 * Adds a cookie with the attributes Path=/, HttpOnly, SameSite=Lax and, if the client uses https,
 * Secure. max_age: seconds; 0 deletes the cookie; -1: until the browser closes. Returns 0 or -1
 * like h2d_reply_header(), which you can use for other attributes; -1 also if name or value
 * contains a space or one of ; , " \ (or = in name).
 */
int h2d_reply_cookie(struct h2d_req *req, const char *name, const char *value, int64_t max_age);

/* Answers OPTIONS (RFC 9110, 9.3.7) with the methods of the path, as h2d does if no row handles
 * OPTIONS. */
void h2d_reply_options(struct h2d_req *req);

/* Answers with the site's error page for status (400–599), or with h2d's own. */
void h2d_reply_error(struct h2d_req *req, int status);

/* The directory in which a path begins. */
enum h2d_tree {
	H2D_DOCUMENT_ROOT,
	H2D_UPLOAD_DIR, /* 404 if the configuration has none */
};

/*
 * Answers with the file at path below tree: "/" and more, decoded, len bytes, copied. h2d handles
 * conditions, ranges, content encodings, HEAD, index files, redirects from "/dir" to "/dir/",
 * types, 404 and 403, and sends the file from the cache or the disk.
 */
void h2d_reply_file(struct h2d_req *req, enum h2d_tree tree, const char *path, size_t len);

/* Results of a fill instead of a number of bytes. */
enum { H2D_LATER = -1, H2D_FAIL = -2 };

/*
 * Writes up to cap bytes (at least one) of content to buf. Returns their number, 0 at the end,
 * H2D_LATER if there is nothing yet (call h2d_resume() when there is), or H2D_FAIL to cut the
 * response off. Called whenever the client can receive more, never after gone(). After H2D_LATER it
 * is also called once when the worker shuts down: an endless stream, such as events, ends then
 * (h2d_draining()), and its client reconnects to the next worker.
 */
typedef ssize_t h2d_fill(struct h2d_req *req, void *state, char *buf, size_t cap);

/* Answers with status (200–599), a content type (NULL: none; copied) and the content that fill
 * writes. If memory is used up, the answer is 503. */
void h2d_reply_stream(struct h2d_req *req, int status, const char *type, h2d_fill *fill);

/*
 * Like h2d_reply_stream(), for content of length bytes, which becomes content-length. If fill
 * writes fewer or more, h2d cuts the response off and logs the mistake. To detect more, h2d calls
 * fill once again after the last byte.
 */
void h2d_reply_stream_sized(
	struct h2d_req *req, int status, const char *type, uint64_t length, h2d_fill *fill);

/*
 * Adds a trailer, a header after the content (RFC 9110, 6.5) such as a checksum, at any time
 * between h2d_reply_stream() and the end of the fill call that returns 0. Like h2d_reply_header(),
 * with up to 32 trailers of 32000 bytes together. Returns -1 also if the reply is not a stream, is
 * sized, or is at its end. A client may drop trailers unless its header te contains trailers.
 * HTTP/1.0 and HEAD send none.
 */
int h2d_reply_trailer(struct h2d_req *req, const char *name, const char *value);

/* A fill that returned H2D_LATER has bytes now. Has no effect at other times before gone(). */
void h2d_resume(struct h2d_req *req);

#ifdef __cplusplus
}
#endif

#endif
