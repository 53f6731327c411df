/*
 * master_link: the keeper's end of the control socket to the master: sends images and facts, takes
 * its messages. The keeper opens it on its loop; it never decides what is sent, and never waits for
 * the master to read.
 */
#ifndef H2D_KEEPER_MASTER_LINK_H
#define H2D_KEEPER_MASTER_LINK_H

#include "base/cache_facts.h"
#include "ipc/ctl.h"
#include "keeper/image_build.h"

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

#endif
