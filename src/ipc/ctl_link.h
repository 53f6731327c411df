/*
 * ctl_link: a child's end of the control socket to the master, on the child's loop: reads messages,
 * asks again for those that came without their descriptors, tells when the master is gone. Worker,
 * acceptor and keeper have one each; what a message means is theirs.
 */
#ifndef H2D_IPC_CTL_LINK_H
#define H2D_IPC_CTL_LINK_H

#include "event/loop.h"
#include "ipc/ctl.h"

struct ctl_link {
	/*
	 * A message; fds are good for the call. How many of them, the first ones, the callee keeps:
	 * the others are closed.
	 */
	int (*message)(struct ctl_link *l, const struct ctl_msg *msg, const int *fds, int nfds);
	/* The master died, or the socket is broken: nothing comes any more. Called once. */
	void (*gone)(struct ctl_link *l);
	struct loop *loop;
	struct watch watch;
	struct ctl_lost lost;
	uint64_t ticked_ms; /* ctl_link_tick() did, last */
};

/* message and gone are set. fd stays the caller's. 0, or -errno. */
int ctl_link_open(struct ctl_link *l, struct loop *loop, int fd);

/* Closes the link, which need not be open. */
void ctl_link_close(struct ctl_link *l);

/* Every second or so: asks again for what was lost. */
void ctl_link_look(struct ctl_link *l);

/*
 * For a process without a slot of the scoreboard: tells once a second that it turns, however often
 * it is called; in the middle of a long step too.
 */
void ctl_link_tick(struct ctl_link *l);

/* For message(): one that this process does not know; it keeps no descriptor of it. */
int ctl_link_unknown(const struct ctl_msg *msg);

#endif
