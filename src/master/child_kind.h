/*
 * child_kind: the table of the kinds of processes that the master starts: the keeper, the workers
 * and the acceptor. A further kind is a row of child_kind.c and the function that the row names.
 * Only the rows differ between kinds: no other file of the master names one of them.
 */
#ifndef H2D_MASTER_CHILD_KIND_H
#define H2D_MASTER_CHILD_KIND_H

#include <stdbool.h>

#include "master/gen_resources.h"
#include "master/reap.h"
#include "net/ctl.h"
#include "sandbox/sandbox.h"
#include "server/worker.h"

/* What a process is given: descriptors at its start, and messages as they come. */
enum child_gets {
	CHILD_LISTENERS = 1, /* its share of the listening sockets */
	CHILD_ERROR_LOG = 2,
	CHILD_ACCESS_LOGS = 4,
	CHILD_IMAGES = 8,      /* every image, by CTL_IMAGE */
	CHILD_LAST_IMAGE = 16, /* the newest image there is when it starts */
	CHILD_DOUBTS = 32,     /* where it reads which names may have changed */
	CHILD_KEEPERS = 64,    /* where every keeper reads that; CTL_KEEPER for each further one */
	CHILD_KEYS = 128,      /* the private keys of its generation stay in its memory */
	CHILD_INBOX = 256,     /* the end of its inbox that receives, with dispatch = acceptor */
	CHILD_INBOXES = 512,   /* both ends of all inboxes, all sockets of public listeners */
	CHILD_SERVE = 1024,    /* CTL_SERVE once its generation serves */
};

/* What the function of a kind is called with, in the new process. */
struct child_run {
	const struct conf *conf;
	const struct resources *resources;
	uint32_t generation;
	unsigned slot; /* which of the processes of its kind this is, from 0 */
	struct board *board;
	struct board_slot *board_slot; /* NULL: a kind without */
	int ctl;
	int error_log; /* -1: none */
	const int *access_logs;
	unsigned naccess_logs;
	struct load_slot *load; /* NULL: none */
	const struct worker_listener *listeners;
	unsigned nlisteners;
	int (*inboxes)[2]; /* of fdpass_pair() */
	unsigned ninboxes;
	int inbox;            /* -1: none */
	bool heir;            /* its master has yet to take over from another one */
	uint64_t cache_size;  /* what the cache may take: max-size at most */
	uint64_t first_image; /* number that its first image may have */
	const int *image;
	int nimage;
	int doubts;    /* -1: none */
	bool replaces; /* an image of its generation is there already */
	const int *keepers;
	unsigned nkeepers;
};

/* For says: the messages that a process may send. */
#define CHILD_SAYS(type) CTL_TYPE(type)

struct child_kind {
	const char *name; /* NULL ends the table */
	bool numbered;    /* "worker 0", not "keeper" */
	bool board;       /* it counts in a slot of the scoreboard */
	/* Runs the process; the exit status. */
	int (*run)(const struct child_run *r);
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
