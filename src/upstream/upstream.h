/*
 * upstream: a worker's connections to the applications behind locations (struct site_proxy): links
 * that requests use one after the other, the peers that they lead to, and the requests that wait
 * for one. The worker owns it, http_env has it. On the loop's thread.
 */
#pragma once

#include "base/err.h"
#include "event/loop.h"
#include "request/req.h"
#include "share/account.h"
#include "upstream/name.h"

struct upstream_peer;

/* A connection to a peer. */
struct link {
	struct watch watch;
	struct task free;
	struct timer idle; /* armed while no request has it */
	struct list node;  /* among the idle ones of its peer */
	struct upstream_peer *peer;
	unsigned address;       /* of the peer's, its number */
	struct link_turn *turn; /* of the request that has it; NULL: idle */
	bool used; /* a request has had it before: the peer may close it at any moment */
};

/* A request that waits for a link, then has one; a member of its owner, which sets the first ones
 * and the calls, and zeroes the others. */
struct link_turn {
	struct list node; /* waits; list_init() it */
	struct upstreams *all;
	const struct site_proxy *proxy;
	struct account *account;    /* of the client; NULL in tests */
	struct upstream_peer *peer; /* asked last; NULL: none yet */
	struct link *link;          /* of that peer */
	unsigned attempts;          /* new links */
	bool fresh;                 /* it gets no used link: it is sent again */
	bool careful;               /* it cannot be sent twice: a used link is looked at first */
	/* Called when it has a link, which may not be connected yet; link NULL: peer could not be
	 * asked (errno). Never called from inside link_ask(). */
	void (*linked)(struct link_turn *t);
	/* EPOLL… events of the link. */
	void (*event)(struct link_turn *t, uint32_t events);
};

/* For the proxies of env->sites; env outlives it. It outlives the threads of offload. NULL when
 * memory is out. */
struct upstreams *upstreams_new(struct http_env *env, struct offload *offload);
void upstreams_free(struct upstreams **all);

/* Closes idle links, now and later: the worker drains. all may be NULL. */
void upstreams_drain(struct upstreams *all);

/* Waits for a link. False: too many wait. */
bool link_ask(struct link_turn *t);

/* After a failure: false if all addresses of its peers may have failed. */
bool link_may_ask(const struct link_turn *t);

/* Ends the wait, or the use of the link; the next request may have that if it is good. Harmless
 * without either. */
void link_leave(struct link_turn *t, bool good);

/* The peer of t has answered (err NULL), or failed. rests: others are asked for a while. */
void link_counts(struct link_turn *t, const struct err *err, bool rests);

/* "127.0.0.1:3000", for logs. */
struct slice link_name(const struct link_turn *t);
