/*
 * h1_head: what the fields of a request's head say about its message and its connection (RFC 9112):
 * how long the body is, who the host is, whether the connection goes on. All that could make this
 * server and a proxy in front of it disagree about where a request ends is refused here. Pure.
 */
#ifndef H2D_PROTO_H1_HEAD_H
#define H2D_PROTO_H1_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "request/body.h"

/* Both are needed (RFC 6455, 4.2.1). */
enum h1_upgrade {
	H1_UPGRADE_OPTION = 1,    /* of Connection */
	H1_UPGRADE_WEBSOCKET = 2, /* a protocol that Upgrade names */
};

struct h1_head {
	struct slice host; /* of the Host field; n 0: there is none */
	uint64_t length;   /* of content-length; BODY_UNKNOWN: there is none */
	bool chunked;
	bool close, keep_alive; /* options of Connection */
	bool wants_continue;    /* expect: 100-continue */
	bool expects_other;
	uint8_t upgrade; /* bits of enum h1_upgrade */
};

static inline void h1_head_init(struct h1_head *h)
{
	*h = (struct h1_head){ .length = BODY_UNKNOWN };
}

/* Whether a body follows the head, which is complete. */
static inline bool h1_head_has_body(const struct h1_head *h)
{
	return h->chunked || (h->length > 0 && h->length != BODY_UNKNOWN);
}

/*
 * One field. *keep: whether it is the request's, too; what is between this connection's two ends
 * (RFC 9110, 7.6.1) is not, but for a Connection that names fields; nor is Host, which is the
 * authority. NULL, or what is wrong with it.
 */
const struct err *h1_head_field(
	struct h1_head *h, struct slice name, struct slice value, bool *keep);

/* The head is complete. minor: of the version. */
const struct err *h1_head_end(struct h1_head *h, unsigned minor);

/*
 * Takes a target in absolute-form apart (RFC 9112, 3.2.2): 1, *rest begins with "/" or "?" or is
 * empty. 0: it is in another form. -1: its authority is malformed, or it is of another scheme.
 */
int h1_head_absolute(
	struct slice target, struct slice *scheme, struct slice *authority, struct slice *rest);

#endif
