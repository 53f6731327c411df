/*
 * gen: a generation: one configuration and its resources: TLS contexts, log files, the user, its
 * part of the listening sockets, and places for its processes. A generation is built beside the
 * serving one and is dropped whole if it fails. Gen starts and ends no process.
 */
#pragma once

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
};

/*
 * Connections that the acceptor has accepted and no worker has taken, one inbox per worker slot.
 * The master keeps both ends, like listening sockets: neither a worker's death nor the acceptor's
 * loses waiting ones, and workers of the next generation read on.
 */
struct inboxes {
	int (*ends)[2]; /* of scm_pair(); the second -1: only the acceptor sends */
	unsigned n;     /* 0: none */
	uint32_t first; /* identity of the first, the others follow */
};

/*
 * logs: the log files of one generation. Only the master opens them, and every process of that
 * generation inherits them. Reopening keeps the master's descriptor numbers.
 */

struct logs {
	int error;                        /* -1: syslog */
	const char *error_path;           /* NULL: not a file; borrowed from the conf */
	int access[CONF_ACCESS_LOGS_MAX]; /* in the order of conf_access_logs() */
	const char *access_paths[CONF_ACCESS_LOGS_MAX]; /* like error_path */
	unsigned naccess;
	uid_t user; /* of the workers; 0: the master's own */
};

#define LOGS_NONE ((struct logs){ .error = -1 })

/*
 * 0, or -1 after a fault at the log's line; then none is open. A file that the master may not open
 * is tried as the user of privs: a root without CAP_DAC_OVERRIDE needs that for a log that belongs
 * to the user.
 */
int logs_open(struct logs *l, const struct conf *conf, const struct privs *privs,
	conf_fault_fn *fault, void *ctx);

/* Opens the files again, by name. If one cannot be opened the old one stays, which is logged. */
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
	enum conf_balance balance; /* the effective one: hash if the kernel refuses */
	const struct sockets_entry *
		*sockets;       /* per conf->listens; NULL: an address family is missing */
	struct inboxes inboxes; /* one per worker with dispatch = acceptor, else none */
	int doubts[2];          /* the keeper reads the first, workers write to the second; -1 */
	bool doubts_anew;       /* processes have started with another pair */
	struct child *children; /* in the order of the table of kinds */
	unsigned nchildren;
	unsigned nworkers;    /* children with a scoreboard slot: the workers */
	struct list loans;    /* of empty places; loan's own */
	struct ctl_msg image; /* the newest; arg 0: none yet */
	int image_fds[CTL_FDS_MAX];
	int nimage_fds;
	struct cache_facts facts; /* its keeper's last report */
	struct timer deadline;    /* of a drain */
	uint64_t until;           /* ms; the end of that */
	bool stops;               /* of a stop, not of a reload */
	bool unborn;              /* some were not up when it began: killed first */
	struct status_gone gone;  /* its connections, and their ends so far */
	bool terminated;          /* SIGTERM was sent, SIGKILL is next */
	struct task free;
};

#define GEN_FOREACH(c, g) \
	for (struct child *c = (g)->children; c < (g)->children + (g)->nchildren; c++)

/* Makes these messages (DUE_…) due to g's processes of the kinds that get any of gets. */
void gen_send(struct gen *g, unsigned gets, unsigned due);

/*
 * Reads the configuration, checks it, opens its logs, makes places for the processes of these
 * kinds. NULL after at least one fault.
 */
struct gen *gen_new(const struct conf_override *ov, const struct child_kind *kinds, uint32_t number,
	conf_fault_fn *fault, void *ctx);

extern const struct states gen_states;
void gen_go(struct gen *g, enum gen_state state);

/* True if all awaited children have sent UP. */
bool gen_is_up(const struct gen *g);

/*
 * Takes its sockets from all; called again, those missing before. 0, or -errno of the worst fault;
 * sockets_keep() or _undo() is the caller's.
 */
int gen_listen(struct gen *g, struct sockets *all, conf_fault_fn *fault, void *ctx);

/* True for the errno of an address that may become available: in use, or missing yet. */
bool gen_may_listen_later(int rc);

/*
 * The sockets of c's place, n of them, in memory that the caller frees; NULL when memory is out. A
 * worker's listeners that the acceptor accepts from have no descriptor (-1).
 */
struct worker_listener *gen_listeners(const struct child *c, unsigned *n);

/* The listeners that are closed for good, as bits of conf->listens: for CTL_DRAIN. */
uint64_t gen_closing(const struct gen *g, const struct sockets *all);

/* Takes the descriptors of a new image, and closes the old ones. */
void gen_take_image(struct gen *g, const struct ctl_msg *msg, const int *fds, int nfds);

/* g's processes drain: they use no images, no keeper needs doubts, and inboxes end. */
void gen_let_go(struct gen *g);

/* Writes g, the serving generation, into the scoreboard's head; NULL: none yet. */
void gen_show(const struct gen *g, struct board_head *h);

/* No process may be left. */
void gen_free(struct gen **g);
