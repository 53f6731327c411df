/*
 * h2d/request.h: what a handler reads from its request: path, parameters, headers, client and body.
 * Included by h2d/handler.h, which defines the lifetime of the strings.
 */
#ifndef H2D_REQUEST_H
#define H2D_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;

/* Methods of routes (RFC 9110, 9.3; PATCH: RFC 5789; from PROPFIND on: RFC 4918, 9). A route for
 * GET answers HEAD, too. */
enum h2d_method {
	H2D_GET,
	H2D_HEAD,
	H2D_POST,
	H2D_PUT,
	H2D_DELETE,
	H2D_OPTIONS,
	H2D_PATCH,
	H2D_PROPFIND,
	H2D_PROPPATCH,
	H2D_MKCOL,
	H2D_COPY,
	H2D_MOVE,
	H2D_METHODS, /* their number */
	H2D_METHOD_UNKNOWN = H2D_METHODS,
};

/* Never H2D_METHOD_UNKNOWN: h2d answers such requests itself. */
enum h2d_method h2d_req_method(const struct h2d_req *req);

/* The path, decoded and without dot segments; begins with "/". */
const char *h2d_req_path(const struct h2d_req *req, size_t *len);

/* The query after "?", not decoded; "" if there is none. */
const char *h2d_req_query(const struct h2d_req *req, size_t *len);

/*
 * The first parameter of that name in the query, "?name=value&name=value", decoded as a form of a
 * browser ("+" is a space). It may contain a NUL. A name without "=" has an empty value. NULL if
 * there is none, or the request's memory is used up.
 */
const char *h2d_req_query_param(struct h2d_req *req, const char *name, size_t *len);

/* The number of parameters in the query; and the i-th, from 0, with its decoded name in *name (name
 * may be NULL). NULL if there is none. */
unsigned h2d_req_query_params(struct h2d_req *req);
const char *h2d_req_query_param_at(struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* :authority, or the Host header (RFC 9110, 7.2), well-formed; "" if there is none. */
const char *h2d_req_authority(const struct h2d_req *req, size_t *len);

/* The part of the path that matches {name} in the route's pattern, decoded; NULL if the pattern has
 * no such parameter. */
const char *h2d_req_param(const struct h2d_req *req, const char *name, size_t *len);

/* The first request header of that name (lower case); NULL if absent. There is at most one cookie
 * header: h2d joins them. */
const char *h2d_req_header(struct h2d_req *req, const char *name, size_t *len);

/* The i-th request header of that name, from 0; NULL if there is none. */
const char *h2d_req_header_nth(struct h2d_req *req, const char *name, unsigned i, size_t *len);

/* The number of request headers; 0 if the request's memory is used up. */
unsigned h2d_req_headers(struct h2d_req *req);

/* The i-th of all request headers, from 0, in the order of the request: its value, and its name,
 * lower case, in *name, with *name_len bytes (either may be NULL). NULL if there is none. A header
 * connection is included only if it names other headers: a proxy must remove those (RFC 9110,
 * 7.6.1). */
const char *h2d_req_header_at(
	struct h2d_req *req, unsigned i, const char **name, size_t *name_len, size_t *len);

/* The value of the first cookie of that name (case matters), with its quotation marks, if any. NULL
 * if there is none. */
const char *h2d_req_cookie(struct h2d_req *req, const char *name, size_t *len);

/*
 * The content encoding of codings ("br gzip", separated by spaces; br, zstd and gzip are known)
 * that the client prefers (accept-encoding; RFC 9110, 12.5.3). Static. NULL: none of them, so do
 * not compress. If you compress, send the header content-encoding; send vary in either case.
 */
const char *h2d_req_coding(const struct h2d_req *req, const char *codings);

/* "https" or "http": the client's connection to h2d, or to a trusted proxy. Static. */
const char *h2d_req_scheme(const struct h2d_req *req);

/* "TLSv1.3" or "TLSv1.2": of the connection to h2d, possibly a proxy's; NULL: cleartext. Static. */
const char *h2d_req_tls_version(const struct h2d_req *req);

/* The number of parameters in the route's pattern, including a final "*". */
unsigned h2d_req_params(const struct h2d_req *req);

/* The i-th of them, from 0: its value, and in *name its name ("*" for a final "*"; static; name may
 * be NULL). NULL if there is none. */
const char *h2d_req_param_at(const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* The length of the whole request body in bytes (content-length; RFC 9110, 8.6): 0 without a body,
 * -1 if unknown. If a body has another length, end() is not called. */
int64_t h2d_req_length(const struct h2d_req *req);

/* The client's address without its port: "192.0.2.1", "2001:db8::1", or "unix" for a unix socket.
 * If a trusted proxy (trusted-proxies) forwards the request, the address that the proxy reports, or
 * "unknown". NULL if the request's memory is used up. */
const char *h2d_req_peer(struct h2d_req *req, size_t *len);

/* The subject of the client's valid certificate (key client-ca), as in RFC 4514:
 * "CN=alice,O=Example", in printable ASCII. NULL and length 0 without a certificate. */
const char *h2d_req_client_subject(const struct h2d_req *req, size_t *len);

/* The name of the user whose password was correct (auth-basic-file): any bytes. NULL and length 0
 * if h2d asked for no password. */
const char *h2d_req_user(const struct h2d_req *req, size_t *len);

/* Sets the user that the access log and h2d_req_user() report, for handlers that identify users by
 * themselves, by a cookie for example. name is copied; len 0: no user. Returns 0, or -1 if the
 * request's memory is used up: the user does not change. */
int h2d_req_set_user(struct h2d_req *req, const char *name, size_t len);

/* The unique ID of the request, for logs and other servers: the header x-request-id of a trusted
 * proxy, or 32 hexadecimal digits. With request-id = true, the access log and the response contain
 * it, too. NULL if there are no random bytes. */
const char *h2d_req_id(struct h2d_req *req, size_t *len);

/* n bytes of memory with the lifetime of the request, not zeroed, aligned for any type; NULL if its
 * budget (about 4 MiB for all that a request needs) is used up. */
void *h2d_req_alloc(struct h2d_req *req, size_t n);

/* --- the request body ------------------------------------------------------------------------- */

/* Gives back credit for n bytes of the request body (at least 1, at most what body() got and credit
 * was not given back for). This opens the flow-control window: without credit the client sends no
 * more than its window. Give credit back when the bytes have been used. */
void h2d_consume(struct h2d_req *req, size_t n);

/*
 * Stops calls of body() and end() until h2d_body_resume(), for a handler that waits for something
 * before it takes the next piece or stores the body. Pieces that arrive meanwhile wait in h2d
 * without credit, so the client's window bounds them. A second pause has no effect. A reply ends
 * the pause, except a stream of a duplex handler.
 */
void h2d_body_pause(struct h2d_req *req);

/* Resumes calls of body() and end(), from the loop, never from inside this call. Has no effect if
 * the body is not paused. */
void h2d_body_resume(struct h2d_req *req);

/* The first trailer of that name, and the i-th of all with its name: headers after the request body
 * (RFC 9110, 6.5), from end() on, for a handler that takes the body. Do not treat trailers as
 * headers. NULL if there is none. */
const char *h2d_req_trailer(const struct h2d_req *req, const char *name, size_t *len);
const char *h2d_req_trailer_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* The largest body that h2d_body_read() and h2d_form_read() take, in bytes. */
enum { H2D_READ_MAX = 1 << 20 };

/*
 * The result of h2d_body_read(): status 200 and len bytes of data, which end in NUL and are valid
 * as long as the request; or 413 (longer than max) or 503 (memory is used up), and data is NULL.
 * Called once on the loop, possibly before that call returns, but not if the request is gone or h2d
 * has answered it. It may reply, or call h2d_work() and reply later.
 */
typedef void h2d_body_fn(
	struct h2d_req *req, void *state, int status, const char *data, size_t len);

/*
 * Reads the request's body, instead of body() and end(), into the request's memory: up to max bytes
 * (at most H2D_READ_MAX). Call it from start(), on a route with BODY_STREAM; or later, like
 * h2d_store(). A request without a body has an empty one.
 */
void h2d_body_read(struct h2d_req *req, size_t max, h2d_body_fn *done);

/* The result of h2d_form_read(), like that of h2d_body_read(): status 200, and the parameters are
 * available; or 413 (also: too many parameters), 415 (another content type) or 503. */
typedef void h2d_form_fn(struct h2d_req *req, void *state, int status);

/* Like h2d_body_read(), for a form of a browser (application/x-www-form-urlencoded). */
void h2d_form_read(struct h2d_req *req, size_t max, h2d_form_fn *done);

/* The parameters of a form, decoded, like those of the query (h2d_req_query_param()). */
const char *h2d_form_param(const struct h2d_req *req, const char *name, size_t *len);
unsigned h2d_form_params(const struct h2d_req *req);
const char *h2d_form_param_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
