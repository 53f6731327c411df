/*
 * publish: when the next image is made, and which of them workers still hold. At most
 * CATALOG_IMAGES are alive; at that, or when segments and indexes are at their maximum, the keeper
 * waits for a worker to let go, and the marks keep the workers right meanwhile.
 */
#ifndef H2D_KEEPER_PUBLISH_H
#define H2D_KEEPER_PUBLISH_H

#include "event/loop.h"
#include "keeper/image_build.h"

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

#endif
