/*
 * gen: a generation: one configuration and what stands on it: TLS contexts, log files, the user,
 * its part of the listening sockets, and places for its processes. A generation is built beside the
 * one that serves and is thrown away whole if it does not stand. Gen starts and ends no process.
 */
#ifndef H2D_MASTER_GEN_H
#define H2D_MASTER_GEN_H

#include <stddef.h>
#include <sys/types.h>

#include "base/states.h"
#include "board/board.h"
#include "conf/conf.h"
#include "event/loop.h"
#include "master/child.h"
#include "master/gen_resources.h"
#include "master/sockets.h"
#include "master/status.h"
#include "sandbox/privs.h"

struct master;

enum gen_state {
#define GEN_STATE(name, next, help) GEN_##name,
#include "master/gen_state.def"
	GEN_STATES
};

/*
 * Where connections wait that the acceptor has accepted and no worker has taken, one per worker
 * slot. The master keeps both ends, as it keeps listening sockets: neither a worker's death nor the
 * acceptor's loses what waits, and workers of the next generation read on.
 */
struct inboxes {
	int (*ends)[2]; /* of ctl_pair(); the second -1: the acceptor alone sends */
	unsigned n;     /* 0: none */
	uint32_t first; /* the identity of the first, those of the others follow */
};

/*
 * logs: the log files of one generation. The master alone opens them, and every process of that
 * generation inherits them. Reopening keeps the master's descriptor numbers.
 */

struct logs {
	int error;                        /* -1: syslog */
	const char *error_path;           /* NULL: not a file; borrowed from the conf */
	int access[CONF_ACCESS_LOGS_MAX]; /* in the order of conf_access_logs() */
	const char *access_paths[CONF_ACCESS_LOGS_MAX]; /* as error_path */
	unsigned naccess;
	uid_t user; /* of the workers; 0: the master's own */
};

#define LOGS_NONE ((struct logs){ .error = -1 })

/*
 * 0, or -1 after a fault where the log is configured; then nothing is open. A file that the master
 * may not open is tried as the user of privs: a root without CAP_DAC_OVERRIDE needs that for a log
 * that belongs to the user.
 */
int logs_open(struct logs *l, const struct conf *conf, const struct privs *privs,
	conf_fault_fn *fault, void *ctx);

/* Opens the files anew, by name. One that cannot be opened stays as it is, which is logged. */
void logs_reopen(const struct logs *l);

void logs_close(struct logs *l);

struct gen {
	struct master *master;
	struct list node;
	uint32_t number;
	enum gen_state state; /* gen_go() alone writes it */
	struct conf *conf;
	struct resources resources;
	struct logs logs;
	enum conf_balance balance; /* as it can be had: hash where the kernel refuses */
	const struct sockets_entry *
		*sockets;       /* per conf->listens; NULL: an address family is missing */
	struct inboxes inboxes; /* one per worker with dispatch = acceptor, else none */
	int doubts[2];          /* the keeper reads the first, workers write to the second; -1 */
	bool doubts_anew;       /* processes have started with another pair */
	struct child *children; /* in the order of the table of kinds */
	unsigned nchildren;
	unsigned nworkers;    /* children with a scoreboard slot: those that serve */
	struct list loans;    /* of empty places; loan's own */
	struct ctl_msg image; /* the newest; arg 0: none yet */
	int image_fds[CTL_FDS_MAX];
	int nimage_fds;
	struct cache_facts facts; /* as its keeper told last */
	struct timer deadline;    /* of a drain */
	uint64_t until;           /* ms; its end */
	bool stops;               /* it is that of a stop, not of a reload */
	bool unborn;              /* some were not up when it began: they are killed first */
	struct status_gone gone;  /* its connections, and how they ended so far */
	bool terminated;          /* SIGTERM was sent, SIGKILL comes next */
	struct task free;
};

#define GEN_FOREACH(c, g) \
	for (struct child *c = (g)->children; c < (g)->children + (g)->nchildren; c++)

/*
 * Reads the configuration, checks it, opens its logs, makes places for the processes of these
 * kinds. NULL after at least one fault.
 */
struct gen *gen_new(const struct conf_override *ov, const struct child_kind *kinds, uint32_t number,
	conf_fault_fn *fault, void *ctx);

extern const struct states gen_states;

/* Takes g to the next state; asserts that it may follow. */
void gen_go(struct gen *g, enum gen_state state);

/* Whether all children that are awaited have said UP. */
bool gen_is_up(const struct gen *g);

/*
 * Takes its sockets out of all; called again, those that it could not have before. 0, or -errno of
 * the worst fault; sockets_keep() or _undo() is the caller's.
 */
int gen_listen(struct gen *g, struct sockets *all, conf_fault_fn *fault, void *ctx);

/* True for an errno of an address that cannot be had now: in use, or not there yet. */
bool gen_may_listen_later(int rc);

/*
 * The sockets of c's place, n of them, in memory that the caller frees; NULL when memory is out.
 * Those of a worker that the acceptor accepts from are among them without a descriptor (-1).
 */
struct worker_listener *gen_listeners(const struct child *c, unsigned *n);

/* The listeners that are closed for good, as bits of conf->listens: for CTL_DRAIN. */
uint64_t gen_closing(const struct gen *g, const struct sockets *all);

/* Takes over the descriptors of a new image, and closes those of the one before. */
void gen_take_image(struct gen *g, const struct ctl_msg *msg, const int *fds, int nfds);

/* g's processes leave: they use no image any more, there is no keeper to be told of changes, and
 * inboxes come to an end. */
void gen_let_go(struct gen *g);

/* Writes g, the generation that serves, into the scoreboard's head; NULL: none does yet. */
void gen_show(const struct gen *g, struct board_head *h);

/* No process may be left. */
void gen_free(struct gen **g);

#endif
