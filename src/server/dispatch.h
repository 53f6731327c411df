/*
 * dispatch: the seam between listening sockets and a worker: how connections reach it. reuseport
 * accepts from the worker's own sockets; an acceptor process would send them. Both end in
 * worker_take().
 */
#ifndef H2D_SERVER_DISPATCH_H
#define H2D_SERVER_DISPATCH_H

#include "net/addr.h"

struct worker;
struct dispatch;

struct dispatch_ops {
	const char *name;
	/* Begins to take connections. NULL with errno. */
	struct dispatch *(*start)(struct worker *w);
	/* The worker is full, or has room again. */
	void (*pause)(struct dispatch *d);
	void (*resume)(struct dispatch *d);
	/* No new connections any more; what is queued stays queued for whoever shares the socket. */
	void (*stop)(struct dispatch **d);
};

extern const struct dispatch_ops dispatch_reuseport;

#endif
