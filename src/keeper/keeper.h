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
 * publish: decides when the next image is made, and knows which of them workers still hold. At most
 * CATALOG_IMAGES are live; at that, or when segments and indexes are at their maximum, the keeper
 * waits for a worker to release one, and meanwhile the marks protect workers from stale files.
 */

struct publish;

/* An image that may be live. */
struct published {
	struct publish *owner;
	struct built_image image;
	struct watch life;
	bool alive, sent;
};

struct publish {
	struct catalog *catalog;
	struct loop *loop;
	void *buf; /* room for the largest body */
	struct published images[CATALOG_IMAGES];
	struct published *newest;  /* NULL: none yet, or no process holds it */
	uint64_t number;           /* of the next one */
	uint64_t ticked_ms;        /* clock_now_ms() of the last tick */
	uint64_t due_ms;           /* when it is needed, 0: no news */
	uint64_t last_ms, cost_ms; /* when the last one was made, and its processor time */
	bool blocked;              /* at the limit of images, or of their bytes */
	bool hurry;                /* an image that is due is made at once, at any cost */
	int trouble;               /* -errno of the last try, 0: none */
	unsigned made;

	/* Called before it is sent, and before each tick: marks changes since the last call. */
	void (*check)(void *ctx);
	/* 0, or -errno: then it is sent again. */
	int (*send)(void *ctx, const struct built_image *img);
	/* An image or a segment was freed. */
	void (*room)(void *ctx);
	void *ctx;
};

/* The caller sets the calls and their context. */
void publish_init(
	struct publish *p, struct catalog *c, struct loop *loop, void *buf, uint64_t number);
void publish_fini(struct publish *p);

/* Tells the readers of every image that the keeper lives; sends an unsent one. */
void publish_tick(struct publish *p);

/* Called often in a long step: checks for changes and writes the tick when it is due; sends no
 * image. */
void publish_midway(struct publish *p);

/* Ends the use of images for further requests: they will not be marked. */
void publish_revoke(const struct publish *p);

/*
 * Makes an image if one is due. walking: files are still being found, so that it may wait for more.
 * Returns milliseconds until the next call, -1: at the next change.
 */
int publish_step(struct publish *p, bool walking);

/* Images that workers hold. */
unsigned publish_alive(const struct publish *p);

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
	KEEPER_STATES,
};

extern const struct states keeper_states;

/* Runs until the master dies or sends CTL_DRAIN; the exit status of the process. */
int keeper_run(const struct gifts *args);
