/*
 * master_state: the master's parts, and its phase (master_phase.def). The files of this directory
 * that start and end generations share it. A step that is not in the table is our bug, and asserts.
 */
#pragma once

#include "base/states.h"
#include "event/loop.h"
#include "machine/pidfile.h"
#include "master/changes.h"
#include "master/gen.h"
#include "master/sockets.h"
#include "master/status.h"
#include "upgrade/upgrade.h"

enum master_phase {
#define MASTER_STATE(name, next, help) MASTER_##name,
#include "master/master_phase.def"
};

enum master_wish {
#define MASTER_WISH(name, signo, in, grant, help) WISH_##name,
#include "master/master_wish.def"
	MASTER_WISHES
};

struct master {
	struct loop loop;
	struct sig sig;
	struct {
		const struct conf_override *ov;
		const struct program *program;
	} given; /* by the command line */
	struct {
		const struct child_kind *kinds;
		struct child_env env;
	} processes;
	enum master_phase phase; /* master_go() alone writes it */
	struct {
		unsigned asked;    /* bit set of enum master_wish: not begun yet */
		struct task grant; /* checks which of them may begin */
	} wish;                    /* master_signal's */
	int exit_status;
	struct {
		struct board *board;
		struct tally *tally; /* of clients' use, which workers write */
		struct bus *bus;     /* of the workers, for messages between handlers */
		uint64_t shown_ms;   /* last order to workers to show their connections */
	} shared;                    /* memory, with processes */
	struct sockets sockets;
	struct pidfile pidfile;
	struct {
		struct list all; /* generations with processes, oldest first */
		unsigned n;      /* not yet freed */
		uint32_t last;   /* number */
	} gens;
	struct gen *current;  /* the serving one; NULL before the first */
	struct gen *starting; /* the one being built, NULL: none */
	uint64_t next_image;  /* number with which the next keeper may begin */
	struct {
		struct status last; /* as written: of the last finished reload */
		struct status next; /* gathered for the running one */
	} outcome;
	struct {
		uint64_t begun_us;   /* when the running reload, or upgrade, began */
		struct timer limit;  /* for the generation to come up */
		struct timer bind;   /* retries the addresses of the first one */
		uint64_t bind_until; /* ms; the end of that; 0: not begun */
	} build;                     /* of a generation; reload's own */
	struct upgrade upgrade;      /* of this program by another, or of another by this one */
	struct {
		int pair[2]; /* the new program's keeper reads doubts on one, and its other end */
		int keeper;  /* the old one's end for doubts */
	} doubts;            /* of an upgrade; -1: none; doubts' own */
	/*
	 * end and others: a pipe of all successive masters. The serving one has its writing end. At
	 * a byte, or its end, previous ones, which have the other end, stop, too: so the writer of
	 * the byte sees when they have exited.
	 */
	struct {
		struct timer delay; /* shutdown-delay */
		int end;
		struct watch others;
	} leave;                /* drain's own */
	struct changes changes; /* of files whose change causes a reload */
	struct timer second;    /* checks processes and sockets; master.c's own */
	struct {
		struct timer look;   /* for a check if they can be closed */
		uint64_t quiet_from; /* ms; since when their queues are empty; 0: not checked */
	} shrink;                    /* of surplus sockets */
};

extern const struct states master_phases;

/* The signal that asks for it. */
int master_wish_signal(enum master_wish wish);

/* Takes the step. Back at SERVE, waiting wishes are granted when the event batch is over. */
void master_go(struct master *m, enum master_phase phase);

/* The end was announced, or has begun. */
bool master_is_leaving(const struct master *m);

/* No other holder has the sockets: neither a generation being built nor another master. */
bool master_is_alone(const struct master *m);
