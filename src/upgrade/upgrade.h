/*
 * upgrade: both ends of the channel between two masters, and their state. The new program is
 * started beside the old one, inherits descriptors (passed.h), and starts its workers; then the
 * old one tells it to serve. When it serves, the old one sends the final message and exits. Until
 * then the old one gives nothing up, so that a failure changes nothing.
 */
#pragma once

#include <sys/types.h>

#include "base/states.h"
#include "event/loop.h"
#include "upgrade/passed.h"

enum upgrade_state {
#define UPGRADE_STATE(name, next, help) UPGRADE_##name,
#include "upgrade/upgrade_state.def"
};

struct upgrade;

/* The first four are the old master's, the others the new one's. */
struct upgrade_ops {
	/* The new master reports a fault, or that it does not need this socket. */
	void (*said)(struct upgrade *u, const char *text);
	void (*gone)(struct upgrade *u, const char *name);
	/* The new master serves: upgrade_bye() is due. */
	void (*taken)(struct upgrade *u);
	/* The new master failed. why: NULL if it has reported that itself. */
	void (*failed)(struct upgrade *u, const char *why);
	/* Undoes work of a new master that already served. Called again when its process has ended:
	 * a killed one runs on for a moment. */
	void (*undo)(struct upgrade *u);
	/* This master must serve from now on. */
	void (*go)(struct upgrade *u);
	/* The old master's final message; NULL: none. */
	void (*bye)(struct upgrade *u, const char *text);
	/* The old master has ended, before it gave anything up. */
	void (*lost)(struct upgrade *u);
};

struct upgrade {
	struct loop *loop;
	const struct upgrade_ops *ops;
	/* Starts the new program, which gets p, with its end of the channel. 0, or -errno. */
	int (*start)(struct upgrade *u, const struct program *program, const struct passed *p,
		int channel, const char *variable);
	enum upgrade_state state; /* upgrade_go() alone writes it */
	struct watch channel;     /* to the other master; its fd -1: none */
	struct watch process;     /* the pidfd of the new one; -1 */
	struct timer timer;       /* for it to be ready; for the old one's final message */
	pid_t pid;                /* of the other master; 0: unknown yet */
	bool said;                /* the new one has reported its fault */
};

extern const struct states upgrade_states;

/* The name of the passed channel. */
#define UPGRADE_CHANNEL "h2d/upgrade"

void upgrade_init(struct upgrade *u, struct loop *loop, const struct upgrade_ops *ops);

/* --- the old master's side -------------------------------------------------------------------- */

/*
 * Starts the program, which inherits p, and the variable ("NAME=value"). ops get the outcome,
 * perhaps before this returns.
 */
void upgrade_begin(
	struct upgrade *u, const struct program *program, struct passed *p, const char *variable);

/* Gives up an upgrade under way; why is for ops->failed. */
void upgrade_abort(struct upgrade *u, const char *why);

/* Sends the final message. False: the new master did not wait for it. */
bool upgrade_bye(const struct upgrade *u, const char *text);
void upgrade_signal(const struct upgrade *u, int signo);

/* --- the new master's side -------------------------------------------------------------------- */

/* Takes the channel passed to this process. False: it is none; it is closed. */
bool upgrade_inherit(struct upgrade *u, int channel);

/* Tells the old master, if any: a fault, or a socket that is not needed. */
void upgrade_say(const struct upgrade *u, const char *text);
void upgrade_gone(const struct upgrade *u, const char *name);

/* The first generation is up. False: there is no old master. */
bool upgrade_ready(struct upgrade *u);

/* The first generation failed. True if there is an old master, which continues. */
bool upgrade_leave(struct upgrade *u);
void upgrade_fini(struct upgrade *u);
