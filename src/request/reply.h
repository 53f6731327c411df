/*
 * reply: the response to a request: its head, and the source of its content. Set by h2d_reply_*()
 * (h2d/handler.h) and by the file replies of files/, read by protocols once it is ready. A reply is
 * given once; then its head never changes.
 */
#pragma once

#include "base/conf_pos.h"
#include "base/err.h"
#include "http/field.h"
#include "request/body.h"

enum {
	REPLY_FIELDS_FIRST = 50, /* room in the reply itself; more is the request's memory */
	REPLY_FIELDS_OWN = 6,    /* room that reply.c keeps for those it adds */
	REPLY_HEAD_MAX = 64000,  /* bytes of names and values: nghttp2 sends no more in one head */
};

/* Headers of which a response has one: the handler's, if it set it. */
enum reply_said { REPLY_SAID_DATE, REPLY_SAID_SERVER, REPLY_SAID_TYPE, REPLY_SAIDS };

struct reply {
	int status;
	struct field *fields; /* with date, server and content-length */
	unsigned nfields, room;
	struct body body; /* closed by req_fini(), so memory that it keeps alive outlives the
			   * head */
	bool ready;       /* the head is complete and was given to the protocol */
	bool content;     /* the body is sent: not for HEAD, 204 and 304 */
	bool duplex;      /* and the request's body goes on until req_body_over() */
	bool sandboxed;   /* an uploaded file, with a content-security-policy */
	uint8_t said;     /* by the handler: bits 1 << enum reply_said */
	char length[20];  /* digits of content-length */
	struct field first[REPLY_FIELDS_FIRST];
};

/* Makes room for n more headers. False: memory is out. */
bool reply_room(struct h2d_req *req, unsigned n);

/* Adds a header by reference: bytes that live until the request is gone. -1 when memory is out. */
int reply_add(struct h2d_req *req, struct slice name, struct slice value);

/* reply_add() that replaces one of which a response has one (enum reply_said). */
int reply_set(struct h2d_req *req, struct slice name, struct slice value);

/* True if a handler may set it: a valid header (RFC 9110, 5.5) that is not the protocol's. */
bool reply_field_valid(struct slice name, struct slice value);

/* Sets the type of the content, replacing a handler's. -1 as above. */
int reply_type(struct h2d_req *req, struct slice type);

/* Answers with bytes, which are copied, and a type (NULL: none), for h2d_reply_bytes(). */
void reply_bytes(struct h2d_req *req, int status, const char *type, struct slice bytes);

/* reply_bytes() by body_memory(): bytes are not copied. */
void reply_memory(
	struct h2d_req *req, int status, const char *type, struct slice bytes, struct ref *ref);

/* Sets the type from a handler (NULL: none), which is copied. False: it failed, and has answered.
 */
bool reply_given_type(struct h2d_req *req, const char *type);

/*
 * Answers in place of a handler's reply, and logs the reason: an illegal value of a header; no
 * memory for n bytes.
 */
void reply_bad_value(struct h2d_req *req, const char *what);
void reply_no_memory(struct h2d_req *req, size_t n);

/* Removes the handler's type; p NULL: none. */
struct slice reply_take_type(struct h2d_req *req);

/* Begins without headers, in the reply's own room. */
static inline void reply_no_fields(struct reply *r)
{
	r->fields = r->first;
	r->nfields = 0;
	r->room = REPLY_FIELDS_FIRST;
	r->said = 0;
}

/*
 * Adds the request headers of value, a list, to vary; names that it has are not repeated. -1 when
 * memory is out.
 */
int reply_vary(struct h2d_req *req, struct slice value);

/* Adds cache-control, unless the location has its own. -1 when memory is out. */
int reply_cache_control(struct h2d_req *req, struct slice value);

/* The line of the configuration that has set header f of the response; NULL: none. */
const struct conf_pos *reply_field_at(const struct h2d_req *req, const struct field *f);

/*
 * Answers with h2d's own small page for status, and the client's mistake, if its record has one.
 * h2d_reply_error() sends it if the site has no page of its own, and env->conf.error_page() falls
 * back to it: then the error's own status and headers are restored. Headers that describe content
 * (content-type, etag) are removed.
 */
void reply_own_page(struct h2d_req *req, int status);

/*
 * Adds the content-security-policy of h2d's own pages (http/page.h), unless the response has one:
 * the sandbox of uploads allows styles. 0, or -1 when memory is out.
 */
int reply_page_policy(struct h2d_req *req);

/*
 * Headers and reply.body are set (a head over REPLY_HEAD_MAX becomes 414 or 500): adds date,
 * server, content-length (if known) and the configuration's headers (rules/site.h), and gives the
 * reply to the protocol. The body of HEAD, 204 and 304 stays, unread, until the request is gone:
 * its references keep the headers' bytes alive.
 */
void reply_send(struct h2d_req *req, int status);

/* reply_send() for content made from the request's body: that continues until the source calls
 * req_body_over(), unless no content is sent. */
void reply_send_duplex(struct h2d_req *req, int status);

/* Asks the source of the content (base/ref.h), which is released if it is not sent. */
void reply_ask(struct reply *r, struct lender *lender);

/* h2d_reply_error() with that file of the site, which the configuration names at at. */
void reply_error_page(
	struct h2d_req *req, int status, struct slice file, const struct conf_pos *at);

/* Does h2d_reply_error(), unless a reply was given already. */
void reply_error(struct h2d_req *req, int status);

/* Answers a client that may try again after ms (0: soon), and logs err: RFC 6585, 4; RFC 9110,
 * 10.2.3. */
void reply_later(struct h2d_req *req, const struct err *err, uint64_t ms);
