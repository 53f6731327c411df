/*
 * exchange: one request to an application and its response. ask.c makes the head of the request,
 * exchange.c sends it; proxy.c, the handler, takes the response; coded.c compresses.
 */
#pragma once

#include "base/states.h"
#include "request/req_body.h"
#include "upstream/response.h"
#include "upstream/upstream.h"

enum exchange_state {
#define EXCHANGE_STATE(name, next, help) EXCHANGE_##name,
#include "upstream/exchange_state.def"
};
extern const struct states exchange_states;

struct exchange_buf; /* proxy.c */

struct exchange {
	struct h2d_req *req;
	struct link_turn turn;
	enum exchange_state state;
	struct timer timer;

	/* The request. */
	struct task flush;        /* sends at the end of the turn */
	struct outq out;          /* unsent bytes */
	struct body_piece *piece; /* of the body, which out borrows by piece_ref */
	struct ref piece_ref;
	bool chunked;
	bool expects; /* the client waits for 100, and so does its body */
	bool begun;   /* some of the body was sent */
	bool ended;   /* the end of it is in out */
	bool deaf;    /* the peer takes no more of it */

	/* The response. */
	struct response in;
	struct exchange_buf *buf; /* NULL: none */
	struct slice content;     /* of buf, for the client */
	bool readable;            /* the link may have more */
	bool ends;                /* no further event tells so */
	bool later;               /* the protocol waits for content */
};

extern const struct h2d_handler upstream_handler;

/* The only writer of x->state: asserts the predecessor. */
void exchange_go(struct exchange *x, enum exchange_state state);

/* The request has no answer from the peer: asks another one, or replies with err, or cuts the reply
 * off. why: a reason that a log line may end with. */
void exchange_fail(struct exchange *x, const struct err *err, const char *why);

/* Waits for a link, or replies. */
void exchange_join(struct exchange *x);
/* There is no link for it now: replies. */
void exchange_give_up(struct exchange *x);

/* The link is no longer needed, or was lost. */
void exchange_leave(struct exchange *x, bool good, enum exchange_state state);

/* The peer has its time from now on, while it is waited for. */
void exchange_wait(struct exchange *x);

/* There is a link (t of an exchange), or none can be had. */
void exchange_begin(struct link_turn *t);

/* Sends what can be sent: the first bytes show that the link is connected. */
void exchange_send(struct exchange *x);

/* ask.c: the head of the request goes to q. -1 when memory is out. */
int ask_head(const struct exchange *x, struct outq *q);

/* ask.c: true if the peer gets that header, or trailer; names: Connection may name it. */
bool ask_passes(const struct exchange *x, const struct field *f, bool names);

/* ask.c: true if all readers of the target find the location whose rules were met. */
bool ask_may_pass(const struct h2d_req *req);

/*
 * coded.c: compresses the content of the reply, before reply_send(), unless the
 * location, the client or a header of the response forbids it, or the client's share of CODED_MAX
 * is used up.
 */
void coded_begin(struct h2d_req *req, int status);
