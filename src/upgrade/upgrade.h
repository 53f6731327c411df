/*
 * upgrade: two masters, of which the new one replaces the old one. The new program is started
 * beside the old one, inherits what is passed (passed.h), and brings its workers up; then it is
 * told to go on; and when it has said that it serves, the old one has the last word and leaves.
 * Until then nothing is given away, so that whatever fails leaves everything as it was. Upgrade is
 * both ends of the channel between them, and knows how far they are; what a master does at each
 * step it is told by its ops.
 */
#ifndef H2D_UPGRADE_UPGRADE_H
#define H2D_UPGRADE_UPGRADE_H

#include <sys/types.h>

#include "base/states.h"
#include "event/loop.h"
#include "upgrade/passed.h"

enum upgrade_state {
#define UPGRADE_STATE(name, next, help) UPGRADE_##name,
#include "upgrade/upgrade_state.def"
	UPGRADE_STATES
};

struct upgrade;

/* The first four are the old master's, the others the new one's. */
struct upgrade_ops {
	/* The new master says what is wrong with it, or that it does not need this socket. */
	void (*said)(struct upgrade *u, const char *text);
	void (*gone)(struct upgrade *u, const char *name);
	/* It serves: upgrade_bye() is due. */
	void (*taken)(struct upgrade *u);
	/* It does not come up. why: NULL if it has said so itself. */
	void (*failed)(struct upgrade *u, const char *why);
	/* Work that it may have done as the one that serves is undone. It is called again when its
	 * process has ended: one that is killed runs on for a moment. */
	void (*undo)(struct upgrade *u);
	/* It is to serve from now on. */
	void (*go)(struct upgrade *u);
	/* The old master's last word; NULL: it had none. */
	void (*bye)(struct upgrade *u, const char *text);
	/* There is no old master any more, before it gave anything away. */
	void (*lost)(struct upgrade *u);
};

struct upgrade {
	struct loop *loop;
	const struct upgrade_ops *ops;
	/* Has the new program run, which is passed p, its end of the channel among them. 0, or
	 * -errno. */
	int (*start)(struct upgrade *u, const struct program *program, const struct passed *p,
		int channel, const char *variable);
	enum upgrade_state state; /* upgrade_go() alone writes it */
	struct watch channel;     /* to the other master; its fd -1: there is none */
	struct watch process;     /* the pidfd of the new one; -1 */
	struct timer timer;       /* for it to be ready; for the old one's last word */
	pid_t pid;                /* of the other master; 0: not told yet */
	bool said;                /* the new one has said what is wrong */
};

extern const struct states upgrade_states;

/* The name by which the channel is passed. */
#define UPGRADE_CHANNEL "h2d/upgrade"

void upgrade_init(struct upgrade *u, struct loop *loop, const struct upgrade_ops *ops);

/* --- the old master's side -------------------------------------------------------------------- */

/*
 * Starts the program, which inherits p, and the variable ("NAME=value"). What comes of it is told
 * by ops, perhaps before this returns.
 */
void upgrade_begin(
	struct upgrade *u, const struct program *program, struct passed *p, const char *variable);

/* An upgrade that is under way is given up; why is for ops->failed. */
void upgrade_abort(struct upgrade *u, const char *why);

/* The last word. False: the new master did not wait for it. */
bool upgrade_bye(const struct upgrade *u, const char *text);

/* Sends the new master a signal. */
void upgrade_signal(const struct upgrade *u, int signo);

/* --- the new master's side -------------------------------------------------------------------- */

/* The channel that was passed to this process. False: it is none; it is closed. */
bool upgrade_inherit(struct upgrade *u, int channel);

/* Tells the old master, if there is one: a fault, or a socket that is not needed. */
void upgrade_say(const struct upgrade *u, const char *text);
void upgrade_gone(const struct upgrade *u, const char *name);

/* The first generation stands. False: there is no old master. */
bool upgrade_ready(struct upgrade *u);

/* It does not. Whether there is an old master, which goes on. */
bool upgrade_leave(struct upgrade *u);

/* At the end of a master. */
void upgrade_fini(struct upgrade *u);

#endif
