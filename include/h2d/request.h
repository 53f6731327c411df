/*
 * h2d/request.h: a handler's questions about its request, and the calls by which it takes the body.
 * Included by h2d/handler.h, which says how long what these calls return is valid.
 */
#ifndef H2D_REQUEST_H
#define H2D_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct h2d_req;

/* Methods a route can name (RFC 9110, 9.3; PATCH: RFC 5789). A route for GET answers HEAD too. */
enum h2d_method {
	H2D_GET,
	H2D_HEAD,
	H2D_POST,
	H2D_PUT,
	H2D_DELETE,
	H2D_OPTIONS,
	H2D_PATCH,
	H2D_METHODS, /* how many */
	H2D_METHOD_UNKNOWN = H2D_METHODS,
};

/* Never H2D_METHOD_UNKNOWN: such requests are answered before a handler sees them. */
enum h2d_method h2d_req_method(const struct h2d_req *req);

/* The path of the target, percent-decoded and with dot segments removed; begins with "/". */
const char *h2d_req_path(const struct h2d_req *req, size_t *len);

/* The query behind "?", not decoded; "" if there is none. */
const char *h2d_req_query(const struct h2d_req *req, size_t *len);

/*
 * The first parameter of that name in the query, "?name=value&name=value", decoded as browsers
 * encode forms ("+" is a space); it may have a NUL inside. A name without "=" has an empty value.
 * name and what is returned end in NUL. NULL if there is none, or the request's memory is spent.
 */
const char *h2d_req_query_param(struct h2d_req *req, const char *name, size_t *len);

/* How many parameters the query has; and the i-th of them, from the left, its name, decoded, in
 * *name (ends in NUL; may be NULL). NULL if there is no i-th. */
unsigned h2d_req_query_params(struct h2d_req *req);
const char *h2d_req_query_param_at(struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* :authority, or Host (RFC 9110, 7.2), as it came, well-formed; "" if there is none. */
const char *h2d_req_authority(const struct h2d_req *req, size_t *len);

/* The value of {name} in the route's pattern, decoded, a copy of that part of the path; NULL if the
 * pattern has no such parameter. name ends in NUL. */
const char *h2d_req_param(const struct h2d_req *req, const char *name, size_t *len);

/* The first request field of that name (lower case, ends in NUL); NULL if absent. Of "cookie" there
 * is one, whatever it came in. */
const char *h2d_req_field(struct h2d_req *req, const char *name, size_t *len);

/* The i-th request field of that name, 0 being the first; NULL if there is no i-th. */
const char *h2d_req_field_at(struct h2d_req *req, const char *name, unsigned i, size_t *len);

/* How many request fields there are; 0 if the request's memory is spent. */
unsigned h2d_req_fields(struct h2d_req *req);

/* The i-th of all, in the order in which they came: its value, and in *name its name, lower case,
 * of *name_len bytes (either may be NULL). NULL if there is no i-th. A field connection is among
 * them only if it names others: whoever passes the request on leaves those out (RFC 9110, 7.6.1).
 */
const char *h2d_req_fields_at(
	struct h2d_req *req, unsigned i, const char **name, size_t *name_len, size_t *len);

/* The value of the first cookie of that name (ends in NUL, compared byte for byte), as it came:
 * quotation marks are part of it. NULL if there is none. */
const char *h2d_req_cookie(struct h2d_req *req, const char *name, size_t *len);

/*
 * The content coding that the client wants most (accept-encoding; RFC 9110, 12.5.3) of those in
 * codings, "br gzip", with blanks between them; br, zstd and gzip are known. Ends in NUL; static.
 * NULL: none of them, content goes as it is. A handler that compresses says so in the fields
 * content-encoding and, whichever was chosen, vary.
 */
const char *h2d_req_coding(const struct h2d_req *req, const char *codings);

/* "https" or "http": how the client came, to h2d or to a trusted proxy. Ends in NUL; static. */
const char *h2d_req_scheme(const struct h2d_req *req);

/* "TLSv1.3", "TLSv1.2": of the connection, which may be a proxy's; NULL in cleartext. Ends in NUL;
 * static. */
const char *h2d_req_tls_version(const struct h2d_req *req);

/* How many parameters the route's pattern has, a final "*" included. */
unsigned h2d_req_params(const struct h2d_req *req);

/*
 * The i-th of them (0 up to h2d_req_params() - 1), from the left: its value as h2d_req_param()
 * gives it, and its name in *name (ends in NUL, static; "*" for what a final "*" took). name may be
 * NULL. NULL if there is no i-th.
 */
const char *h2d_req_param_at(const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/*
 * Bytes of request body that are to come in all: what content-length says (RFC 9110, 8.6), 0
 * without a body, -1 if the client has not said. A body that differs from it never comes to end().
 */
int64_t h2d_req_length(const struct h2d_req *req);

/*
 * The client's address without its port: "192.0.2.1", "2001:db8::1", or "unix" for a unix socket.
 * It is what a trusted proxy says (trusted-proxies), and "unknown" if that proxy hides it. Ends in
 * NUL and lives as long as the request; NULL when the request's memory is spent.
 */
const char *h2d_req_peer(struct h2d_req *req, size_t *len);

/*
 * The subject of the client's certificate, if it has shown one and that is good (client-ca,
 * verify), as RFC 4514 writes it: "CN=alice,O=Example", in printable ASCII. Ends in NUL and lives
 * as long as the request; NULL and len 0 if it has shown none, or nobody has asked.
 */
const char *h2d_req_client_subject(const struct h2d_req *req, size_t *len);

/* The name of the user whose password was right (auth-basic-file), as it came: any bytes; NULL and
 * len 0 if nobody was asked for one. */
const char *h2d_req_user(const struct h2d_req *req, size_t *len);

/*
 * From now on the request is that user's: what the access log says, and h2d_req_user(). For
 * handlers that know users in a way of their own, by a cookie say. name: len bytes, copied; 0:
 * nobody's. 0, or -1 when the request's memory is spent: it is whose it was.
 */
int h2d_req_set_user(struct h2d_req *req, const char *name, size_t len);

/*
 * A name of this request that no other has, for logs and for other servers: what a trusted proxy
 * calls it in its field x-request-id, else 32 hexadecimal digits. With request-id = true the access
 * log has it, too, and the answer. NULL if there are no random bytes.
 */
const char *h2d_req_id(struct h2d_req *req, size_t *len);

/* n bytes of memory that lives as long as the request, not zeroed, aligned for any type; NULL when
 * its budget (about 4 MiB for everything a request needs) is spent. */
void *h2d_req_alloc(struct h2d_req *req, size_t n);

/* --- the request body ------------------------------------------------------------------------- */

/* Gives back credit for n bytes of request body (1 up to what body() was given and has no credit
 * yet): this is what opens the flow-control window. Without credit the client sends no more than
 * its window, so a handler that gives it back as it has used the bytes needs no more than this. */
void h2d_consume(struct h2d_req *req, size_t n);

/*
 * From now on neither body() nor end() is called, until h2d_body_resume(). Pieces that come
 * meanwhile wait in the server, without credit: the client's window bounds them. For a handler that
 * has to wait for something else before it can take the next piece, or store the body. Paused twice
 * is paused once; the reply ends it, unless it is a stream of a handler that is duplex.
 */
void h2d_body_pause(struct h2d_req *req);

/* Pieces that waited, and further ones, are handed on again: from the loop, never from inside this
 * call. Harmless if the body is not paused. */
void h2d_body_resume(struct h2d_req *req);

/*
 * The first field of that name behind the request's body (RFC 9110, 6.5), as it came, and the i-th
 * of all with its name: from end() on, for a handler that takes the body. They are not among the
 * request fields, and say nothing that those should. Names and values end in NUL; NULL if there is
 * none.
 */
const char *h2d_req_trailer(const struct h2d_req *req, const char *name, size_t *len);
const char *h2d_req_trailers_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len);

/* Bytes of the largest form that h2d_form_read() takes. */
enum { H2D_FORM_MAX = 1 << 20 };

/*
 * The outcome of h2d_form_read(): status 200, and the parameters are there; 413 (over max, or too
 * many of them), 415 (no such form) or 503 (memory is spent), and none is. Called once on the loop,
 * perhaps before that call returns, and not at all if the request is gone or was answered by the
 * server meanwhile. Any call may follow: a reply, or h2d_work() and the reply later.
 */
typedef void h2d_form_fn(struct h2d_req *req, void *state, int status);

/*
 * Takes the request's body from here on, instead of the handler's body() and end(): a form of
 * application/x-www-form-urlencoded, as browsers send it by POST, of up to max bytes (at most
 * H2D_FORM_MAX). A request without a body is a form without parameters. From start(), for a route
 * that streams its body; or later, as h2d_store().
 */
void h2d_form_read(struct h2d_req *req, size_t max, h2d_form_fn *done);

/* Parameters of a form that was read, decoded, as h2d_req_query_param() and its like have those of
 * the query; they live as long as the request. */
const char *h2d_form_param(const struct h2d_req *req, const char *name, size_t *len);
unsigned h2d_form_params(const struct h2d_req *req);
const char *h2d_form_param_at(
	const struct h2d_req *req, unsigned i, const char **name, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
