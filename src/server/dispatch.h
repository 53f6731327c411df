/*
 * dispatch: the seam between listening sockets and a worker: how connections reach it. reuseport
 * accepts from the worker's own sockets; with acceptor another process does and sends them. The
 * worker calls a strategy through its table; a strategy calls the worker through struct
 * dispatch_host and never otherwise. The acceptor process accepts by reuseport, too.
 */
#ifndef H2D_SERVER_DISPATCH_H
#define H2D_SERVER_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct conf_listen;
struct dispatch;
struct loop;
struct worker_listener;

/* The worker as a strategy sees it, and all that a strategy knows of it. The worker owns it. */
struct dispatch_host {
	struct loop *loop;
	const struct conf_listen *first;         /* CTL_LISTENER() counts from it */
	const struct worker_listener *listeners; /* fd -1: this process does not accept from it */
	unsigned nlisteners;
	int inbox;       /* acceptor: where connections come from; else -1 */
	uint32_t *taken; /* acceptor: counts those that came from there; before take() */
	bool patient;    /* pause() holds while it drains, too */
	/* acceptor: how many connections may be taken now without being more than there is room
	 * for; at least one. */
	unsigned (*room)(struct dispatch_host *host);
	/* A new connection: takes fd, whichever way it came. */
	void (*take)(struct dispatch_host *host, int fd, const struct addr *peer,
		const struct worker_listener *from);
	/* After drain(): all that was to be taken has been. */
	void (*drained)(struct dispatch_host *host);
};

struct dispatch_ops {
	/* Begins to take connections. NULL with errno. */
	struct dispatch *(*start)(struct dispatch_host *host);
	/* The worker is full, or has room again. Admin listeners go on. */
	void (*pause)(struct dispatch *d, bool full);
	/* Every second: takes what other processes were told of and did not take. */
	void (*look)(struct dispatch *d);
	/*
	 * No new connections any more. What is queued stays queued for those who share the socket;
	 * where nobody does (closing: see CTL_DRAIN) it is taken first, and host->drained() is
	 * called when nothing is left to take.
	 */
	void (*drain)(struct dispatch *d, uint64_t closing);
	/* Whether connections may still come. */
	bool (*busy)(const struct dispatch *d);
	/*
	 * Takes connections from another worker's socket too: one more of a listener (its id) that
	 * this worker has, or another in the place of one that is there; id CTL_INBOX: from the
	 * inbox that slot is the identity of. fd is taken over.
	 */
	void (*listen)(struct dispatch *d, uint32_t id, uint32_t slot, int fd);
	/* Not any more: that worker is back, and takes what is queued. */
	void (*unlisten)(struct dispatch *d, uint32_t id, uint32_t slot);
	/* The end, at once. */
	void (*stop)(struct dispatch **d);
};

extern const struct dispatch_ops dispatch_reuseport, dispatch_acceptor;

#endif
