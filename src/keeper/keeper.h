/*
 * keeper: the process that reads and watches the roots and publishes cache images, for as long as
 * it lives. It runs as the worker user, at a low priority; a crash costs only speed, because
 * without its ticks workers read the disk. A reload starts a new keeper, which begins with the
 * unchanged part of the last image (warm_start).
 */
#pragma once

#include "base/cache_facts.h"
#include "base/states.h"
#include "base/strbuf.h"
#include "event/loop.h"
#include "image/doubt.h"
#include "ipc/ctl.h"
#include "ipc/gifts.h"
#include "keeper/image_build.h"
#include "keeper/scan.h"

/*
 * backlog: applies changes from the kernel or a worker, except in the middle of a long step, when
 * the catalogue must not change: such changes are marked in the images at once, and applied after
 * the step, in order. A changed file goes to the reader, a changed directory to scan.
 *
 * It also reads workers' doubts about names (image/doubt.h), and answers once the files are marked:
 * on the keeper's loop, and before each tick, so that a tick is never newer than an unread doubt.
 * Doubts are checked, and cost workers no more than reading the disk.
 */

enum { BACKLOG_MAX = 4 << 20 }; /* bytes, about */

struct backlog {
	struct scan *scan;
	bool midway; /* in the middle of a long step */
	struct strbuf changes;
	bool lost; /* a change was TREE_LOST, or met no memory or room: all may have changed */
	struct watch doubts;
	struct timer begin;
	bool walked;  /* a doubt of this turn was a directory's */
	bool refused; /* a message was malformed, and that was logged */
	unsigned next_root;
	struct loop *loop;
	struct task *work;              /* made ready by each doubt */
	void (*end)(struct backlog *b); /* no more doubts can come; may close it */
};

void backlog_init(struct backlog *b, struct scan *scan);
void backlog_fini(struct backlog *b);

/* tree_change_fn without its context: applies a change at once. */
void backlog_apply(struct scan *s, enum tree_change what, unsigned root, const char *path);

/* backlog_apply(), at once or later; path is copied if kept. */
void backlog_change(struct backlog *b, enum tree_change what, unsigned root, const char *path);

/* Applies all kept changes; not to be called midway. */
void backlog_flush(struct backlog *b);

/*
 * Reads doubts from fd, which stays the caller's; -1: no workers. b->work and b->end are set.
 * Before from_ms (clock_ms()) it does not answer: until then images of an earlier keeper are used,
 * and only that one could have marked them. 0, or -errno.
 */
int backlog_open(struct backlog *b, struct loop *loop, int fd, uint64_t from_ms);

/* farewell: no image is used any more, and no other keeper reads here. */
void backlog_close(struct backlog *b, bool farewell);

/* Takes all changes so far: the kept ones, those of the roots' paths (a swapped link), the
 * kernel's, and doubts, which are answered. */
void backlog_read(struct backlog *b);

enum keeper_state {
#define KEEPER_STATE(name, next, help) KEEPER_##name,
#include "keeper/keeper_state.def"
};

extern const struct states keeper_states;

/* Runs until the master dies or sends CTL_DRAIN; the exit status of the process. */
int keeper_run(const struct gifts *args);
