/*
 * master_state: what the master consists of, and what it is at (master_phase.def). The files of
 * this folder that bring generations up and down share it. A step that is not in the table is our
 * bug, and asserts.
 */
#ifndef H2D_MASTER_MASTER_STATE_H
#define H2D_MASTER_MASTER_STATE_H

#include "base/states.h"
#include "event/loop.h"
#include "machine/cache_room.h"
#include "machine/pidfile.h"
#include "machine/program.h"
#include "master/changes.h"
#include "master/gen.h"
#include "master/sockets.h"
#include "master/status.h"
#include "upgrade/upgrade.h"

enum master_phase {
#define MASTER_STATE(name, next, help) MASTER_##name,
#include "master/master_phase.def"
	MASTER_PHASES
};

enum master_wish {
#define MASTER_WISH(name, in, grant, help) WISH_##name,
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
		unsigned asked;    /* bit set of enum master_wish: and not begun yet */
		struct task grant; /* looks which of them may begin */
	} wish;                    /* master_signal's */
	int exit_status;
	struct {
		struct board *board;
		struct tally *tally; /* of what clients have done, which workers write */
		struct bus *bus;     /* of the workers, for messages between handlers */
		uint64_t shown_ms;   /* when workers were told last to show their connections */
	} shared;                    /* memory, with processes */
	struct sockets sockets;
	struct pidfile pidfile;
	struct {
		struct list all; /* generations that have processes, oldest first */
		unsigned n;      /* not yet freed */
		uint32_t last;   /* number */
	} gens;
	struct gen *current;  /* the one that serves; NULL before the first does */
	struct gen *starting; /* the one that is being built, NULL if none is */
	struct {
		uint64_t next_image;    /* number that the next keeper may begin with */
		struct cache_room room; /* of every generation's keeper */
	} cache;
	struct {
		struct status last; /* as written: the last reload that is over */
		struct status next; /* gathered for the one that runs */
	} outcome;
	struct {
		uint64_t begun_us;   /* when the reload, or the upgrade, that runs began */
		struct timer limit;  /* for the generation to come up */
		struct timer bind;   /* tries once more for the addresses of the first one */
		uint64_t bind_until; /* ms; how long that goes on; 0: not begun */
	} build;                     /* of a generation; reload's own */
	struct upgrade upgrade;      /* of this program by another, or of another by this one */
	struct {
		int pair[2]; /* where the new program's keeper reads doubts, and its other end */
		int keeper;  /* where the old one's does */
	} doubts;            /* of an upgrade; -1: none; doubts' own */
	/*
	 * end and others: a pipe of all masters that follow one another. The one that serves has
	 * its writing end. At a byte, or its end, those of before stop, too, who have the other
	 * end: so the one that wrote the byte sees when they have left.
	 */
	struct {
		struct timer delay; /* shutdown-delay */
		int end;
		struct watch others;
	} leave;                /* drain's own */
	struct changes changes; /* of files that ask for a reload */
	struct timer second;    /* looks at processes and sockets; master.c's own */
	struct {
		struct timer look;   /* for a look whether they can be closed */
		uint64_t quiet_from; /* ms; since when nothing is queued there; 0: not looked at */
	} shrink;                    /* of sockets that are too many */
};

extern const struct states master_phases;

/* Takes the step. Back at SERVE, wishes that wait are granted when the event batch is over. */
void master_go(struct master *m, enum master_phase phase);

/* The end was announced, or has begun. */
bool master_is_leaving(const struct master *m);

/* Nobody else has the sockets: neither a generation that is being built nor another master. */
bool master_is_alone(const struct master *m);

#endif
