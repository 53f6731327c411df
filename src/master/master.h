/*
 * master: the process that an operator starts and signals. Loads the configuration, opens sockets and
 * logs, forks and supervises the processes that serve. It never touches a request or a file tree.
 */
#ifndef H2D_MASTER_MASTER_H
#define H2D_MASTER_MASTER_H

#include "event/loop.h"
#include "event/sig.h"
#include "master/gen.h"
#include "master/pidfile.h"
#include "master/sockets.h"
#include "master/status.h"

enum master_phase {
	MASTER_START, /* the first generation is being built */
	MASTER_SERVE,
	MASTER_LEAVE, /* everything drains or stops; the loop ends with the last child */
};

struct master {
	struct loop loop;
	struct sig sig;
	const struct conf_override *ov;
	enum master_phase phase;
	int exit_status;
	struct board *board;
	struct sockets sockets;
	struct pidfile pidfile;
	struct list gens;          /* every generation that has processes, oldest first */
	unsigned ngens;            /* generations not yet freed */
	struct gen *current;       /* the one that serves; NULL before the first does */
	struct gen *starting;      /* the one that is being built, NULL if none is */
	uint32_t last_number;      /* of a generation */
	uint64_t next_image;       /* number that the next keeper may begin with */
	struct status status;      /* as written: the last reload that is over */
	struct status next;        /* what is being gathered for the one that runs */
	bool again;                /* HUP came while one was running */
	struct timer limit;        /* for a generation to come up */
	struct timer resend;       /* of what children's queues had no room for */
};

/* Runs until a signal ends it; the exit status of the program. */
int master_run(const struct conf_override *ov);

/* What the scoreboard's head says, anew. */
void master_show(struct master *m);

/* Ends everything: gracefully, or at once. */
void master_leave(struct master *m, bool gracefully);

/* A generation was freed. */
void master_gen_gone(struct master *m);

#endif
