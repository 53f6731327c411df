/*
 * child: one process of a generation, for the master. It reports events to its child_ops and
 * decides nothing: supervise decides for the generation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/states.h"
#include "event/loop.h"
#include "ipc/ctl.h"
#include "ipc/gifts.h"
#include "master/gen_resources.h"
#include "sandbox/sandbox.h"
#include "server/worker.h"

struct child;
struct gen;

/* --- restarts ----------------------------------------------------------------------------------
 */

/*
 * reap: the delay before a dead process is restarted, and wait(2) statuses in words. A pure
 * function of the times of the deaths: the first three within a minute are restarted at once,
 * further ones after the delay of their kind's policy, twice as long each time.
 */

enum { REAP_FREE = 3, REAP_WINDOW_MS = 60000 };

/* The shortest and the longest wait, in milliseconds. */
struct reap_policy {
	unsigned first, most;
	unsigned last; /* the longest while no other of its kind is up; 0: ignored */
};

/* The history of one place (a worker slot, the keeper); zero it to begin. */
struct reap {
	uint64_t died[REAP_FREE]; /* ms, the last deaths; a ring */
	unsigned deaths;          /* so far */
	unsigned delay;           /* ms, the last result */
};

/* A process of this place died at now (ms): returns milliseconds until the next is started. */
unsigned reap_delay(struct reap *r, const struct reap_policy *policy, uint64_t now);

/* "killed by signal 9 (Killed)", "exited with status 1": a wait(2) status in words. */
void reap_describe(int status, char *buf, unsigned size);

/* True if the status shows a bug of ours: a fault signal, or an abort. */
bool reap_is_crash(int status);

/* --- kinds of processes ----------------------------------------------------------------------- */

/* Gifts of a process at its start, and later messages. */
enum child_gets {
#define GIFT(flag, name, what) CHILD_##flag = 1u << GIFT_##flag,
#include "ipc/gift.def"
	/* The share of the listening sockets; with CHILD_INBOXES all sockets of public listeners.
	 */
	CHILD_LISTENERS = 1u << GIFTS,
	CHILD_IMAGES = 2u << GIFTS, /* every image, by CTL_IMAGE */
	CHILD_KEYS = 4u << GIFTS,   /* keeps the private keys of its generation in memory */
	CHILD_SERVE = 8u << GIFTS,  /* CTL_SERVE once its generation serves */
};

/* For says: the messages that a process may send. */
#define CHILD_SAYS(type) CTL_TYPE(type)

struct child_kind {
	const char *name; /* NULL ends the table */
	bool numbered;    /* "worker 0", not "keeper" */
	bool board;       /* counts in a slot of the scoreboard */
	/* Runs the process; the exit status. */
	int (*run)(const struct gifts *gifts);
	/* Their number in a generation. */
	unsigned (*count)(const struct conf *conf);
	unsigned gets; /* CHILD_LISTENERS … */
	unsigned says; /* CHILD_SAYS(CTL_UP) … */
	/* The generation serves once all of them have sent UP, and fails if one dies before. */
	bool awaited;
	struct reap_policy restart;
	int expendable; /* killed before the master when memory is out: in thousandths of all */
	struct sandbox sandbox;
	enum board_count died; /* the counter of their deaths */
};

/*
 * The keeper, the workers and the acceptor, in the order in which a generation starts them. A
 * further kind is a row of child_kind.c and its function; no other file of the master names one of
 * them.
 */
extern const struct child_kind child_kinds[];

/* --- one process ------------------------------------------------------------------------------ */

enum child_state {
#define CHILD_STATE(name, next, help) CHILD_##name,
#include "master/child_state.def"
};

/* Messages due to a process, by their place in the table. */
enum child_due {
#define CHILD_DUE(name, fill) CHILD_DUE_##name,
#include "master/child_due.def"
	CHILD_DUES
};

enum {
#define CHILD_DUE(name, fill) DUE_##name = 1u << CHILD_DUE_##name,
#include "master/child_due.def"
};

/*
 * Fills in the n-th message of its kind, from 0, with descriptors to attach that stay the filler's.
 * False: no further one.
 */
typedef bool child_fill_fn(
	const struct child *c, unsigned n, struct ctl_msg *msg, int *fds, int *nfds);

struct child_ops {
	/* The process sent CTL_UP, for the first time. */
	void (*up)(struct child *c);
	/* wait(2) gave status for process pid; its place, in that state before, is empty
	 * already. */
	void (*died)(struct child *c, pid_t pid, int status, enum child_state was);
	/* Another message allowed for its kind. True: the receiver owns fds. */
	bool (*said)(struct child *c, const struct ctl_msg *msg, const int *fds, int nfds);
	child_fill_fn *const *fill; /* by enum child_due */
	/* A message of that kind was sent. */
	void (*sent)(struct child *c, enum child_due due);
};

/* Shared by all children of a master. */
struct child_env {
	struct loop *loop;
	const struct child_ops *ops;
	/* Makes the process; *ctl: our end of its control socket. Its process ID, or -errno. */
	pid_t (*spawn)(struct child *c, int *ctl);
	int (*kill)(pid_t pid, int signo);
};

/* Watchdog's facts about a process. */
struct watchdog {
	uint64_t ticks;  /* at the last look */
	unsigned silent; /* looks since they changed */
};

/* Messages of a process in the second since at; it may be corrupt, or taken over. */
struct child_heard {
	uint64_t at; /* ms */
	unsigned messages, lines;
	struct timer again; /* armed: it has sent so many that the others wait in its queue */
};

struct child {
	const struct child_env *env;
	const struct child_kind *kind;
	struct gen *gen;            /* for the receivers of reports; child itself does not use it */
	unsigned slot;              /* its index among the processes of its kind */
	enum child_state state;     /* child_go() alone writes it */
	pid_t pid;                  /* 0: EMPTY */
	unsigned due;               /* bits, DUE_… */
	unsigned nsent[CHILD_DUES]; /* messages of each kind, since it became due */
	struct watch ctl;           /* our end; not active: none */
	struct timer resend;        /* for messages without room in its queue */
	struct child_heard heard;
	struct board_slot *board; /* of a live process, if its kind has one */
	struct reap reap;
	uint64_t ticks; /* CTL_TICK messages of its process */
	struct watchdog watchdog;
	struct timer respawn; /* launch's */
};

extern const struct states child_states;

/* Takes the step: child when its process comes, is up and ends, supervise when it is full, watchdog
 * when it hangs. */
void child_go(struct child *c, enum child_state state);

void child_init(struct child *c, const struct child_env *env);

/* "worker 0", "keeper". Returns buf. */
enum { CHILD_NAME = 32 };
const char *child_name(const struct child *c, char buf[CHILD_NAME]);

/* child_name() as an argument of a call; the text lives until the end of the block around it. */
#define CHILD_NAME(c) child_name((c), (char[CHILD_NAME]){ 0 })

/* Starts c's process. 0, or -errno. */
int child_start(struct child *c);

/* Makes these messages (DUE_…) due to c, sent now or as soon as its queue has room. */
void child_send(struct child *c, unsigned due);
void child_reaped(struct child *c, int status);

/* Abandons c's process, if any: it gets no more messages than those under way. */
void child_disown(struct child *c);

/* Sends a signal to c's process, if there is one. */
void child_kill(const struct child *c, int signo);
