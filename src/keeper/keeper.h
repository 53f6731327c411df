/*
 * keeper: the process that reads and watches the roots and publishes cache images, for as long as
 * it lives. It runs as the worker user, at a low priority; a crash costs nothing but freshness of
 * the cache, for without its ticks workers read the disk. A reload starts a new keeper, which
 * begins with what of the last image still holds (warm_start).
 */
#ifndef H2D_KEEPER_KEEPER_H
#define H2D_KEEPER_KEEPER_H

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
 * publish: when the next image is made, and which of them workers still hold. At most
 * CATALOG_IMAGES are alive; at that, or when segments and indexes are at their maximum, the keeper
 * waits for a worker to let go, and the marks keep the workers right meanwhile.
 */

struct publish;

/* An image that may be alive. */
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
	struct published *newest;  /* NULL: none yet, or nobody holds it */
	uint64_t number;           /* of the next one */
	uint64_t ticked_ms;        /* the last tick, as clock_now_ms() says */
	uint64_t due_ms;           /* when it is wanted, 0: nothing is new */
	uint64_t last_ms, cost_ms; /* when the last one was made, and its time on a processor */
	bool blocked;              /* at the limit of images, or of their bytes */
	bool hurry;                /* an image that is due is made at once, whatever it costs */
	int trouble;               /* -errno of the last try, 0: it went well */
	unsigned made;

	/* Before it is sent, and before each tick: what changed since it was read is to be marked.
	 */
	void (*check)(void *ctx);
	/* 0, or -errno: it is sent again then. */
	int (*send)(void *ctx, const struct built_image *img);
	/* An image or a segment went. */
	void (*room)(void *ctx);
	void *ctx;
};

/* The calls and their context are the caller's to set. */
void publish_init(
	struct publish *p, struct catalog *c, struct loop *loop, void *buf, uint64_t number);
void publish_fini(struct publish *p);

/* Tells the readers of every image that the keeper lives; sends what could not be sent. */
void publish_tick(struct publish *p);

/* In a long step, often: looks for changes and writes the tick when it is time; sends nothing. */
void publish_midway(struct publish *p);

/* No worker uses an image for another request: nobody marks them any more. */
void publish_revoke(const struct publish *p);

/*
 * Makes an image if one is due. walking: files are still being found, so that it may wait for more
 * of them. In how many milliseconds to ask again, -1: when something is new.
 */
int publish_step(struct publish *p, bool walking);

/* Images that workers hold. */
unsigned publish_alive(const struct publish *p);

/*
 * master_link: the keeper's end of the control socket to the master: sends images and facts, takes
 * its messages. The keeper opens it on its loop; it never decides what is sent, and never waits for
 * the master to read.
 */

struct master_link {
	void (*leave)(void *ctx); /* the master is gone, or wants this process to end */
	void *ctx;
	struct ctl_link ctl;
	uint32_t generation;
	int error_log; /* the descriptor that the log writes to, -1 or 0: not ours to close */
	struct cache_facts told; /* facts that the master was told last, and when */
	uint64_t told_ms;
};

/* leave and ctx are set. 0, or -errno. */
int master_link_open(
	struct master_link *l, struct loop *loop, int fd, uint32_t generation, int error_log);
void master_link_close(struct master_link *l);

/* With each tick of the keeper: asks again for what was lost. */
void master_link_tick(struct master_link *l);

/* In the middle of a long step too: tells once a second that this process turns. */
void master_link_turns(struct master_link *l);

/* Sends facts if they differ from the last ones; with a full queue nothing is sent. */
void master_link_tell(struct master_link *l, const struct cache_facts *facts);

/* 0, or -errno: then it was not sent, and may be tried again. */
int master_link_send_image(struct master_link *l, const struct built_image *img);

/*
 * doubt_server: reads what workers tell of names that changed (image/doubt.h), has them marked, and
 * answers. Called by the keeper's loop, and before each tick, so that a tick is never newer than a
 * doubt that nobody looked at. What workers send is checked, and costs them no more than a look at
 * the disk.
 */

struct doubt_server {
	struct watch watch;
	struct loop *loop;
	struct timer begin;
	bool refused; /* a message was malformed, and that was said */
	/* Marks path below the root that is (dev, ino). */
	void (*doubt)(void *ctx, uint64_t dev, uint64_t ino, const char *path);
	/* Reads what the kernel tells: the name may have others. */
	void (*look)(void *ctx);
	/* Nothing can be asked any more. */
	void (*end)(void *ctx);
	void *ctx;
};

/*
 * fd stays the caller's; -1: nobody asks. The calls and their context are set. Before from_ms
 * (clock_ms()) nothing is answered: until then images of an earlier keeper are used, and only that
 * one could have marked them. 0, or -errno.
 */
int doubt_server_open(struct doubt_server *s, struct loop *loop, int fd, uint64_t from_ms);

/* farewell: no image is used any more, and no other keeper reads here. */
void doubt_server_close(struct doubt_server *s, bool farewell);

/* Answers all that was asked until now. */
void doubt_server_read(struct doubt_server *s);

/*
 * backlog: what the kernel or a worker tells of goes on to scan, but not in the middle of a long
 * step, when the catalogue must stay as it is: such changes are marked in the images at once, and
 * scan is told when the step is over, in their order.
 */

enum { BACKLOG_MAX = 4 << 20 }; /* bytes, about */

struct backlog {
	struct scan *scan;
	bool midway; /* in the middle of a long step */
	struct strbuf changes;
	bool lost; /* a change was TREE_LOST, or found no memory or room: everything may have
		      changed */
};

void backlog_init(struct backlog *b, struct scan *scan);
void backlog_fini(struct backlog *b);

/* As scan_change(); path is copied where it is kept. */
void backlog_change(struct backlog *b, enum tree_change what, unsigned root, const char *path);

/* A worker tells that path, "/dir/name", changed, in every root that is the directory (dev, ino).
 */
void backlog_doubt(struct backlog *b, uint64_t dev, uint64_t ino, const char *path);

/* Scan is told of all that was kept; nothing happens midway. */
void backlog_flush(struct backlog *b);

enum keeper_state {
#define KEEPER_STATE(name, next, help) KEEPER_##name,
#include "keeper/keeper_state.def"
	KEEPER_STATES,
};

extern const struct states keeper_states;

/* Runs until the master goes or says CTL_DRAIN; the exit status of the process. */
int keeper_run(const struct gifts *args);

#endif
