/*
 * gen: a generation: one configuration and what stands on it: TLS contexts, log files, the user, its
 * part of the listening sockets, and places for its processes. Built beside the one that serves and
 * thrown away whole if it does not stand. Starts and ends no process itself.
 */
#ifndef H2D_MASTER_GEN_H
#define H2D_MASTER_GEN_H

#include "conf/conf.h"
#include "event/loop.h"
#include "master/basis.h"
#include "master/logs.h"
#include "master/reap.h"
#include "master/sockets.h"
#include "net/ctl.h"
#include "server/board.h"
#include "server/worker.h"

struct gen;
struct master;

enum child_kind { CHILD_WORKER, CHILD_KEEPER };

/* Messages that a child has yet to be sent. */
enum { DUE_IMAGE = 1, DUE_LOGS = 2, DUE_DRAIN = 4 };

/* A place for one process: a worker slot of a generation, or its keeper. */
struct child {
	struct gen *gen;
	enum child_kind kind;
	unsigned slot;              /* worker slot */
	pid_t pid;                  /* 0: nobody is here */
	bool up;                    /* it has said so */
	unsigned due;
	struct watch ctl;           /* our end; not active: none */
	struct board_slot *board;   /* of a worker that lives */
	struct reap reap;
	struct timer respawn;
};

enum gen_state {
	GEN_START, /* not all workers are up; another generation may be serving */
	GEN_SERVE,
	GEN_DRAIN, /* its processes leave; then it is freed */
};

struct gen {
	struct master *master;
	struct list node;
	uint32_t number;
	enum gen_state state;
	struct conf *conf;
	struct basis basis;
	struct logs logs;
	const struct sockets_entry **sockets; /* per conf->listens; NULL: an address family is missing */
	struct child keeper;        /* stays empty when nothing is to be cached */
	struct child *workers;
	unsigned nworkers;
	struct ctl_msg image;       /* the newest; arg 0: none yet */
	int image_fds[CTL_FDS_MAX];
	int nimage_fds;
	struct cache_facts facts;   /* as its keeper told last */
	struct timer deadline;      /* of a drain */
	bool terminated;            /* SIGTERM was sent, SIGKILL comes next */
	struct task free;
};

/* Reads the configuration, checks it, opens its logs. NULL after at least one fault. */
struct gen *gen_new(const struct conf_override *ov, uint32_t number, conf_fault_fn *fault, void *ctx);

/* Takes its sockets out of all. 0, or -1 after a fault; sockets_keep() or _undo() is the caller's. */
int gen_listen(struct gen *g, struct sockets *all, conf_fault_fn *fault, void *ctx);

/* The sockets of one worker, n of them, in memory that the caller frees; NULL when memory is out. */
struct worker_listener *gen_worker_listeners(const struct gen *g, unsigned slot, unsigned *n);

/* Takes over the descriptors of a new image, and closes those of the one before. */
void gen_take_image(struct gen *g, const struct ctl_msg *msg, const int *fds, int nfds);

/* Its processes leave, and use none any more. */
void gen_drop_image(struct gen *g);

/* Whether an image is still to come. */
bool gen_is_building(const struct gen *g);

/* No process may be left. */
void gen_free(struct gen **g);

#endif
