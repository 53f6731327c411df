/*
 * reply: the response to a request: its head as it is put together, and the source of its content.
 * Filled in by h2d_reply_*() (h2d/handler.h) and by the file replies of files/, read by protocols
 * once it is ready. A reply is given once; afterwards its head is never touched.
 */
#ifndef H2D_REQUEST_REPLY_H
#define H2D_REQUEST_REPLY_H

#include "base/conf_pos.h"
#include "http/field.h"
#include "request/body.h"

enum {
	REPLY_FIELDS_MAX = 50,
	REPLY_HEAD_MAX = 64000, /* bytes of names and values: nghttp2 sends no more in one head */
};

/* Fields of which a response has one: the handler's, if it has said it. */
enum reply_said {
#define REPLY_REFUSED(...)
#define REPLY_REPLACED(said, name) REPLY_SAID_##said,
#include "request/reply_field.def"
	REPLY_SAIDS
};

struct reply {
	int status;
	struct field fields[REPLY_FIELDS_MAX]; /* date, server and content-length included */
	unsigned nfields;
	struct body body; /* closed by req_fini(), so what it keeps alive outlives the head */
	bool ready;       /* the head is complete and was given to the protocol */
	bool content;     /* the body is sent: not for HEAD, 204 and 304 */
	bool sandboxed;   /* it is a file that was uploaded: content-security-policy says so */
	uint8_t said;     /* by the handler: bits 1 << enum reply_said */
	char length[20];  /* digits of content-length */
};

/* Adds a field by reference: bytes that live until the request is gone. -1 when there are too many.
 */
int reply_add(struct h2d_req *req, struct slice name, struct slice value);

/* Whether a handler may say it: a field (RFC 9110, 5.5) that is not the protocol's. */
bool reply_field_valid(struct slice name, struct slice value);

/* Says the type of the content, in place of one that the handler has said. -1 as above. */
int reply_type(struct h2d_req *req, struct slice type);

/* Answers with bytes, which are copied, and a type (NULL: none), as h2d_reply_bytes() does. */
void reply_bytes(struct h2d_req *req, int status, const char *type, struct slice bytes);

/* As reply_bytes(), by body_memory(): bytes are not copied. */
void reply_memory(
	struct h2d_req *req, int status, const char *type, struct slice bytes, struct ref *ref);

/* Says the type that a handler gave (NULL: none), which is copied. False: it could not, and has
 * answered. */
bool reply_given_type(struct h2d_req *req, const char *type);

/*
 * Answers in place of a handler's reply, and the log says why: what it gave as the value of a field
 * is none; there is no memory for n bytes.
 */
void reply_bad_value(struct h2d_req *req, const char *what);
void reply_no_memory(struct h2d_req *req, size_t n);

/* Takes back the type that the handler has said; p NULL: none. */
struct slice reply_take_type(struct h2d_req *req);

/* Takes all fields back. */
static inline void reply_no_fields(struct reply *r)
{
	r->nfields = 0;
	r->said = 0;
}

/*
 * Says in vary that the response depends on the request fields of value, a list; names that it
 * says already are not said again. -1 when memory is out.
 */
int reply_vary(struct h2d_req *req, struct slice value);

/*
 * Answers with h2d's own small page for status, and the client's fault, as far as its record has
 * it. h2d_reply_error() sends it where the site has no page of its own, and env->conf.error_page()
 * falls back to it: then the error's own status and fields are back, whatever has become of them
 * since. Fields that describe content (content-type, etag) go.
 */
void reply_own_page(struct h2d_req *req, int status);

/*
 * The content-security-policy of pages that h2d makes (http/page.h), unless the response has one:
 * the sandbox of uploads lets styles through. 0, or -1 when memory is out.
 */
int reply_page_policy(struct h2d_req *req);

/*
 * Fields and reply.body are set (a head over REPLY_HEAD_MAX becomes 414 or 500): adds date, server,
 * content-length (if known) and what the configuration adds (rules/site.h), and hands the reply
 * to the protocol. The body of HEAD, 204 and 304 stays, unread, until the request is gone: what it
 * holds a reference on keeps the fields' bytes alive.
 */
void reply_send(struct h2d_req *req, int status);

/* As reply_send(), for content that is made of the request's body: that goes on until the source
 * says req_body_over(), unless no content is sent. */
void reply_send_duplex(struct h2d_req *req, int status);

/* Asks the source of the content (base/ref.h), which is needed no more where it is not sent. */
void reply_ask(struct reply *r, struct lender *lender);

/* As h2d_reply_error(), with that file of the site, which the configuration names at at. */
void reply_error_page(
	struct h2d_req *req, int status, struct slice file, const struct conf_pos *at);

/* Answers as h2d_reply_error() does, unless a reply was given already. */
void reply_error(struct h2d_req *req, int status);

#endif
