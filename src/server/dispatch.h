/*
 * dispatch: how connections reach a worker: from its own sockets (reuseport, also for the acceptor
 * process), or sent by another process (acceptor). A strategy calls the worker only through struct
 * dispatch_host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct conf_listen;
struct dispatch;
struct loop;
struct worker_listener;

/* The worker for a strategy, which knows no more of it. The worker owns it. */
struct dispatch_host {
	struct loop *loop;
	const struct conf_listen *first;         /* CTL_LISTENER() counts from it */
	const struct worker_listener *listeners; /* fd -1: this process does not accept from it */
	unsigned nlisteners;
	int inbox;       /* acceptor: source of connections; else -1 */
	uint32_t *taken; /* acceptor: counts connections from there; before take() */
	bool patient;    /* pause() applies while it drains, too */
	/* acceptor: how many connections may be taken now within the room; at least one. */
	unsigned (*room)(struct dispatch_host *host);
	/* A new connection: takes fd, in either way. */
	void (*take)(struct dispatch_host *host, int fd, const struct addr *peer,
		const struct worker_listener *from);
	/* After drain(): all expected ones were taken. */
	void (*drained)(struct dispatch_host *host);
};

struct dispatch_ops {
	/* Begins to take connections. NULL with errno. */
	struct dispatch *(*start)(struct dispatch_host *host);
	/* The worker is full, or has room again. Admin listeners continue. */
	void (*pause)(struct dispatch *d, bool full);
	/* Called every second: takes connections that other processes were woken for and did not
	 * take. */
	void (*look)(struct dispatch *d);
	/*
	 * Ends new connections. Queued ones stay for processes that share the socket; if none does
	 * (closing: see CTL_DRAIN) they are taken first, and host->drained() is called when none is
	 * left.
	 */
	void (*drain)(struct dispatch *d, uint64_t closing);
	/* True if connections may still come. */
	bool (*busy)(const struct dispatch *d);
	/*
	 * Takes connections from another worker's socket too: one more of a listener (its id) that
	 * this worker has, or a replacement of one; id CTL_INBOX: from the inbox of the identity
	 * slot. Takes fd.
	 */
	void (*listen)(struct dispatch *d, uint32_t id, uint32_t slot, int fd);
	/* Ends that: the other worker is back, and takes queued ones. */
	void (*unlisten)(struct dispatch *d, uint32_t id, uint32_t slot);
	/* Ends it at once. */
	void (*stop)(struct dispatch **d);
};

extern const struct dispatch_ops dispatch_reuseport, dispatch_acceptor;

/* The listener of that identity; NULL: host has none. */
const struct worker_listener *dispatch_listener(const struct dispatch_host *host, uint32_t id);
