/*
 * upgrade: replaces the running master by the program that is installed now. The new one is started
 * beside the old one, inherits its sockets, and builds a generation; once that stands, upgrade
 * is told to go on; and when it has said that it serves, the old master drains. Until then nothing
 * is given away, so whatever fails leaves everything as it was.
 */
#ifndef H2D_MASTER_UPGRADE_H
#define H2D_MASTER_UPGRADE_H

#include <sys/types.h>

#include "event/loop.h"

struct handover;
struct master;

struct upgrade {
	/* Has the new program run, which inherits what h names, memfd and its end of the channel.
	 * 0, or -errno. */
	int (*start)(struct master *m, const struct handover *h, int memfd, int channel);
	struct watch channel; /* to the new program */
	struct timer limit;   /* for it to be ready */
	bool offered;         /* it was told to go on, and may serve */
	pid_t pid;            /* of the new master; 0: not told yet */
	struct watch process; /* its pidfd, which tells its end; not active: not told yet */
	uint64_t began_us;
	int doubts[2]; /* where the new program's keeper reads doubts, and its other end; -1 */
};

void upgrade_init(struct master *m);

/* Begins one. What comes of it is in the log and the status file. */
void upgrade_begin(struct master *m);

/* The master leaves: one that runs is given up. */
void upgrade_abort(struct master *m);

#endif
