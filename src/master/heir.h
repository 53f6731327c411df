/*
 * heir: what the new program of an upgrade inherits, and its channel to the old master. Heir takes
 * it into the master before the first generation is built. Until takeover says so nothing of it is
 * this master's own: it unlinks nothing, writes no file and tells the service manager nothing.
 */
#ifndef H2D_MASTER_HEIR_H
#define H2D_MASTER_HEIR_H

#include "event/loop.h"
#include "master/handover.h"

struct gen;
struct master;

struct heir {
	struct watch channel; /* to the old master; active: it serves still */
	struct handover from;
	struct timer last_word; /* the old master's is due */
};

/* The variable of the environment that names the memfd and the channel: "5:6". */
#define HEIR_VARIABLE "H2D_UPGRADE"

/*
 * Takes what the environment tells of into m, and watches the channel with fn; without that
 * variable nothing. 0, or -1: m is not fit to start, and why was said.
 */
int heir_take(struct master *m, void (*fn)(struct watch *w, uint32_t events));

/* Tells the old master, if there is one; what: "text ", "gone ", "ready ", "taken". */
void heir_say(struct master *m, const char *what, const char *text);

/* Closes the channel, and what only the start of the first generation needs. */
void heir_close(struct master *m);

/* The first generation does not stand. Whether there is an old master, which goes on. */
bool heir_leave(struct master *m);

/* Gives up the rest of the inheritance. */
void heir_fini(struct master *m);

#endif
