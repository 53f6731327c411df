/*
 * sockets: the master's listening sockets, by the address that the configuration names. They
 * outlive generations. With fewer workers than sockets some workers have several, until shrink has
 * seen to it that they can be closed without loss. A
 * generation that is being built takes what it needs; then the change is kept or undone, whole.
 */
#ifndef H2D_MASTER_SOCKETS_H
#define H2D_MASTER_SOCKETS_H

#include <stdbool.h>

#include "base/list.h"
#include "base/states.h"
#include "net/listener.h"
#include "upgrade/fdstore.h"
#include "upgrade/passed.h"

enum sockets_state {
#define SOCKETS_STATE(name, next, help) SOCKETS_##name,
#include "master/sockets_state.def"
	SOCKETS_STATES
};

struct sockets {
	struct list all; /* struct sockets_entry */
};

/* A unix socket's file. */
struct sockets_file {
	unsigned mode;
	gid_t group; /* -1: as it is made */
};

struct sockets_entry {
	struct listener listener;
	struct addr wanted; /* as configured: the listener's own has its port */
	struct sockets_file file;
	enum sockets_state state; /* sockets_go() alone writes it */
	unsigned kept;            /* slots before the change */
	unsigned asked;           /* slots that the change needs */
	unsigned needed; /* slots that the generation which serves needs; the others are closed */
	unsigned was;    /* slots before they were */
	bool gone;       /* the program that replaces this one does not need it */
	bool passed;     /* by the service manager, which has it as long as it likes */
	bool emptied;    /* it is closed, and of its sockets some were ours alone */
	struct list node;
};

extern const struct states sockets_states;

void sockets_go(struct sockets_entry *e, enum sockets_state state);

/* Whether the change that is under way needs e. */
static inline bool sockets_is_taken(const struct sockets_entry *e)
{
	return e->state == SOCKETS_OPENED || e->state == SOCKETS_CLAIMED ||
	       e->state == SOCKETS_TAKEN;
}

void sockets_init(struct sockets *s);

/*
 * An entry with at least nslots sockets for wanted: one that is there, grown if need be, or a new
 * one bound to bind_to (wanted, perhaps with another port). NULL with errno and a message in err.
 */
struct sockets_entry *sockets_take(struct sockets *s, const struct addr *wanted,
	const struct addr *bind_to, unsigned nslots, struct sockets_file file, char *err,
	size_t errsize);

/* Gives the file of a unix socket that is ours its group and its mode; logs why it cannot. */
void sockets_own(const struct sockets_entry *e);

/* The name by which its sockets are passed to another program. */
enum { SOCKETS_NAME = FDSTORE_NAME + 8 };
void sockets_name(const struct sockets_entry *e, char buf[SOCKETS_NAME]);

/* Adds all descriptors that are passed. False: memory is out. */
bool sockets_pass(const struct sockets *s, struct passed *p);

/*
 * Takes over all that are left of p, as good as kept: those of a socket unit, which stay the
 * manager's, and those that a program before this one had opened. heir: that one serves still, and
 * their addresses are not ours yet. What is of no use is closed, with a warning.
 */
void sockets_inherit(struct sockets *s, struct passed *p, bool heir);

/*
 * Before the first change opens any: closes what the master before this one had stored and nobody
 * wants any more, for another address may need its port.
 */
void sockets_sift(struct sockets *s, bool (*wanted)(const void *ctx, const struct addr *addr),
	const void *ctx);

/* Ends the change: all that was taken listens, what was not taken is closed. */
void sockets_keep(struct sockets *s);

/* Gives them to the service manager's store: what it heard while notify held back was nothing. */
void sockets_store(const struct sockets *s);

/* Ends the change: everything is as before. */
void sockets_undo(struct sockets *s);

/* Whether e is still open, here or in another process; e may be one that was closed. */
bool sockets_have(const struct sockets *s, const struct sockets_entry *e);

/* No address is ours any more: who has the sockets, too, serves what is queued on them. */
void sockets_disown(struct sockets *s);

/* Closes all. Of an address that is not ours somebody else serves the queue: sockets_have() it. */
void sockets_close(struct sockets *s);

/* Closes and forgets all. */
void sockets_free(struct sockets *s);

#endif
