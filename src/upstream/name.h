/*
 * name: looks up the host name of a peer in a thread (getaddrinfo(3)), again while it is in use.
 * Called by upstream.c.
 */
#pragma once

#include "base/addr.h"
#include "event/offload.h"

enum { NAME_ADDRS = 8 };

struct name_job;

struct name {
	struct slice text; /* "app.internal:80" */
	struct offload *offload;
	struct name_job *job; /* under way; NULL: none */
	uint64_t at_ms;       /* when the last one began; 0: never */
	struct addr addrs[NAME_ADDRS];
	unsigned n;
	bool failed;                        /* the last look-up */
	void (*changed)(struct name *name); /* a look-up has ended */
};

/* text and offload outlive it; nothing is looked up yet. */
void name_init(struct name *name, struct offload *offload, struct slice text,
	void (*changed)(struct name *name));
/* Starts a look-up if none is under way, and the last is too old. */
void name_want(struct name *name);
/* A look-up under way may outlive it, but nothing of its result does. */
void name_fini(struct name *name);
