/*
 * name: the addresses of a peer: its own, or those of its host, which a thread looks up
 * (getaddrinfo(3)), again while it is in use. Called by upstream.c; name_look() also by main.c.
 */
#pragma once

#include <netdb.h>

#include "event/offload.h"
#include "rules/site.h"

enum { NAME_ADDRS = 8 };

/* Outlives the threads of offload. */
struct name {
	struct job job;
	struct addrinfo *found; /* by the job */
	int error;              /* of the job, for gai_strerror(3) */
	const struct site_peer *site;
	struct offload *offload;
	uint64_t again_ms; /* clock_ms() of the next look-up; UINT64_MAX: one is under way, or the
			    * peer has an address */
	struct addr addrs[NAME_ADDRS];
	unsigned n;
	bool failed;                        /* the last look-up */
	void (*changed)(struct name *name); /* a look-up has ended */
};

/* peer and offload outlive it; nothing is looked up yet. */
void name_init(struct name *name, struct offload *offload, const struct site_peer *peer,
	void (*changed)(struct name *name));
/* Starts a look-up if none is under way, and the last is too old. */
void name_want(struct name *name);

/* Looks up the host of peer, which has no address. Blocks; 0, or an error of getaddrinfo(3). The
 * caller frees *found by freeaddrinfo(3). */
int name_look(const struct site_peer *peer, struct addrinfo **found);
