/*
 * dispatch: how connections reach a process: from listening sockets, and to a worker also from
 * inboxes, by the acceptor process. It calls the process only through struct dispatch_host.
 * Listeners of a worker's own, as of admins, are independent of inboxes: an operator can connect
 * even if every inbox is full.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct conf_listen;
struct dispatch;
struct loop;
struct worker_listener;

/* The process, which owns it. */
struct dispatch_host {
	struct loop *loop;
	const struct conf_listen *first;         /* CTL_LISTENER() counts from it */
	const struct worker_listener *listeners; /* fd -1: this process does not accept from it */
	unsigned nlisteners;
	int inbox;      /* a worker's own, -1: none */
	uint32_t taken; /* connections from there so far (wraps); counted before take() */
	bool patient;   /* pause() applies while it drains, too */
	/* The number of an inbox's connections that may be taken within the room; at least one. */
	unsigned (*room)(struct dispatch_host *host);
	/* A new connection: takes fd, in either way. */
	void (*take)(struct dispatch_host *host, int fd, const struct addr *peer,
		const struct worker_listener *from);
	/* After drain(): all expected ones were taken. */
	void (*drained)(struct dispatch_host *host);
};

/* Begins to take connections. NULL with errno. */
struct dispatch *dispatch_start(struct dispatch_host *host);

/* The worker is full, or has room again. Admin listeners continue. */
void dispatch_pause(struct dispatch *d, bool full);

/* Called every second: takes connections that other processes were woken for and did not take. */
void dispatch_look(struct dispatch *d);

/*
 * Ends new connections. Queued ones stay for processes that share the socket; if none does
 * (closing: see CTL_DRAIN) they are taken first, as all of an inbox; host->drained() is called when
 * none is left.
 */
void dispatch_drain(struct dispatch *d, uint64_t closing);

/* True if connections may still come. */
bool dispatch_busy(const struct dispatch *d);

/*
 * Takes connections from another worker's socket too: one more of a listener (its id) that this
 * worker has, or a replacement of one; id CTL_INBOX: from the inbox of the identity slot. Takes fd.
 */
void dispatch_listen(struct dispatch *d, uint32_t id, uint32_t slot, int fd);

/* Ends that: the other worker is back, and takes queued ones. */
void dispatch_unlisten(struct dispatch *d, uint32_t id, uint32_t slot);

/* Ends it at once. */
void dispatch_stop(struct dispatch **d);
