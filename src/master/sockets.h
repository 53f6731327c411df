/*
 * sockets: the master's listening sockets, by their configured address. They outlive generations.
 * With fewer workers than sockets some workers have several, until shrink can close them without
 * loss. A generation being built takes those it needs; then the change is kept or undone, whole.
 */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "base/states.h"
#include "net/listener.h"
#include "upgrade/fdstore.h"
#include "upgrade/passed.h"

enum sockets_state {
#define SOCKETS_STATE(name, next, help) SOCKETS_##name,
#include "master/sockets_state.def"
};

struct sockets {
	struct list all; /* struct sockets_entry */
};

/* A unix socket's file. */
struct sockets_file {
	unsigned mode;
	gid_t group; /* -1: unchanged */
};

struct sockets_entry {
	struct listener listener;
	struct addr wanted; /* as configured: the listener's own has its port */
	struct sockets_file file;
	enum sockets_state state; /* sockets_go() alone writes it */
	unsigned kept;            /* slots before the change */
	unsigned asked;           /* slots that the change needs */
	unsigned needed; /* slots that the serving generation needs; the others are closed */
	unsigned was;    /* slots before that */
	bool gone;       /* the replacing program does not need it */
	bool passed;     /* by the service manager, which keeps it */
	bool emptied;    /* it is closed, and some of its sockets were only ours */
	struct list node;
};

extern const struct states sockets_states;

void sockets_go(struct sockets_entry *e, enum sockets_state state);

/* True if the change under way needs e. */
static inline bool sockets_is_taken(const struct sockets_entry *e)
{
	return e->state == SOCKETS_OPENED || e->state == SOCKETS_CLAIMED ||
	       e->state == SOCKETS_TAKEN;
}

void sockets_init(struct sockets *s);

/*
 * An entry with at least nslots sockets for wanted: an existing one, grown if need be, or a new one
 * bound to bind_to (wanted, perhaps with another port). NULL with errno and a message in err.
 */
struct sockets_entry *sockets_take(struct sockets *s, const struct addr *wanted,
	const struct addr *bind_to, unsigned nslots, struct sockets_file file, char *err,
	size_t errsize);

/* Gives our unix socket's file its group and its mode; logs failures. */
void sockets_own(const struct sockets_entry *e);

/* The name of its sockets when passed to another program. */
enum { SOCKETS_NAME = FDSTORE_NAME + 8 };
void sockets_name(const struct sockets_entry *e, char buf[SOCKETS_NAME]);

/* Adds all passed descriptors. False: memory is out. */
bool sockets_pass(const struct sockets *s, struct passed *p);

/*
 * Takes all that are left of p, like kept ones: those of a socket unit, which stay the manager's,
 * and those opened by a previous program. heir: that one still serves, and their addresses are not
 * ours yet. Useless ones are closed, with a warning.
 */
void sockets_inherit(struct sockets *s, struct passed *p, bool heir);

/*
 * Called before the first change opens any: closes sockets that the previous master had stored and
 * that are not needed, because another address may need its port.
 */
void sockets_sift(struct sockets *s, bool (*wanted)(const void *ctx, const struct addr *addr),
	const void *ctx);

/* Ends the change: all taken ones listen, others are closed. */
void sockets_keep(struct sockets *s);

/* Gives them to the service manager's store: messages held back by notify were not sent. */
void sockets_store(const struct sockets *s);

/* Ends the change: restores the state before. */
void sockets_undo(struct sockets *s);

/* True if e is still open, here or in another process; e may be a closed one. */
bool sockets_have(const struct sockets *s, const struct sockets_entry *e);

/* Gives up all addresses: other holders of the sockets serve their queues. */
void sockets_disown(struct sockets *s);

/* Closes all. Another process serves the queue of an address that is not ours: sockets_have()
 * it. */
void sockets_close(struct sockets *s);
void sockets_free(struct sockets *s);
