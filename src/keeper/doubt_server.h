/*
 * doubt_server: reads what workers tell of names that changed (image/doubt.h), has them marked, and
 * answers. Called by the keeper's loop, and before each tick, so that a tick is never newer than a
 * doubt that nobody looked at. What workers send is checked, and costs them no more than a look at
 * the disk.
 */
#ifndef H2D_KEEPER_DOUBT_SERVER_H
#define H2D_KEEPER_DOUBT_SERVER_H

#include "event/loop.h"
#include "image/doubt.h"

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

#endif
