/*
 * child_kind: the table of the kinds of processes that the master starts: the keeper, the workers
 * and the acceptor. A further kind is a row of child_kind.c and the function that the row names.
 * Only the rows differ between kinds: no other file of the master names one of them.
 */
#ifndef H2D_MASTER_CHILD_KIND_H
#define H2D_MASTER_CHILD_KIND_H

#include <stdbool.h>

#include "ipc/ctl.h"
#include "ipc/gifts.h"
#include "machine/reap.h"
#include "master/gen_resources.h"
#include "sandbox/sandbox.h"
#include "server/worker.h"

/* A process is given gifts at its start, and messages as they come. */
enum child_gets {
#define GIFT(flag, name, what) CHILD_##flag = 1u << GIFT_##flag,
#include "ipc/gift.def"
	/* Its share of the listening sockets; with CHILD_INBOXES all sockets of public listeners.
	 */
	CHILD_LISTENERS = 1u << GIFTS,
	CHILD_IMAGES = 2u << GIFTS, /* every image, by CTL_IMAGE */
	CHILD_KEYS = 4u << GIFTS,   /* the private keys of its generation stay in its memory */
	CHILD_SERVE = 8u << GIFTS,  /* CTL_SERVE once its generation serves */
};

/* For says: the messages that a process may send. */
#define CHILD_SAYS(type) CTL_TYPE(type)

struct child_kind {
	const char *name; /* NULL ends the table */
	bool numbered;    /* "worker 0", not "keeper" */
	bool board;       /* it counts in a slot of the scoreboard */
	/* Runs the process; the exit status. */
	int (*run)(const struct gifts *gifts);
	/* How many of them a generation has. */
	unsigned (*count)(const struct conf *conf);
	unsigned gets; /* CHILD_LISTENERS … */
	unsigned says; /* CHILD_SAYS(CTL_UP) … */
	/* The generation serves once all of them have said UP, and fails if one dies before. */
	bool awaited;
	struct reap_policy restart;
	int expendable; /* for want of memory before the master: in thousandths of what there is */
	struct sandbox sandbox;
	enum board_count died; /* where their deaths are counted */
};

/* In the order in which a generation starts them. */
extern const struct child_kind child_kinds[];

#endif
