/*
 * ctl: the messages between the master and its children, over one SOCK_SEQPACKET socketpair each,
 * with descriptors attached (SCM_RIGHTS, unix(7)). End of file means that the other side died. What
 * a message means is decided by the caller.
 */
#ifndef H2D_IPC_CTL_H
#define H2D_IPC_CTL_H

#include <stdint.h>

#include "base/cache_facts.h"
#include "event/loop.h"

enum { CTL_FDS_MAX = 64 };

enum ctl_type {
	CTL_UP = 1, /* child → master: serving */
	CTL_IMAGE,  /* keeper → master → workers: number, with descriptors: index, marks, … */
	CTL_DRAIN, /* master → child: finish what you have, then leave; closing; arg 1: h2d stops,
		0: another generation serves */
	CTL_CACHE, /* keeper → master: facts */
	CTL_LOGS,  /* master → child: the reopened error log (if any) and access logs */
	CTL_KEEPER, /* master → worker: where the keeper of another generation reads doubts */
	CTL_LISTEN, /* master → worker: a socket or inbox that nobody may be serving: listener, slot
		     */
	CTL_UNLISTEN, /* master → worker: that slot is served again, or is closed: listener, slot */
	CTL_TICK,     /* child → master, without a slot of the scoreboard: it turns */
	CTL_SERVE, /* master → child: its generation serves, accept from now on; arg 1: health is to
		      say that h2d is about to leave */
	CTL_FULL, /* worker → master: arg 1: it has no room for connections; 0: again it has */
	CTL_AGAIN, /* child → master: messages were lost for want of descriptors; arg: CTL_TYPE() of
		      each */
	CTL_LINE, /* child → master: it has logged line; arg: its enum log_level */
	CTL_SHOW, /* worker → master → the other workers: show your connections on the scoreboard */
};

enum { CTL_LINE_SIZE = 256, CTL_LINES_PER_SECOND = 16 };

struct ctl_msg {
	uint32_t type;
	uint32_t generation;
	uint64_t arg;            /* CTL_IMAGE: the image's number */
	uint64_t size;           /* CTL_IMAGE: bytes of content */
	uint64_t closing;        /* CTL_DRAIN: CTL_LISTENER() of each that nobody else will serve */
	uint32_t listener, slot; /* CTL_LISTEN, CTL_UNLISTEN: its id, and which of its sockets */
	union {
		struct cache_facts facts; /* CTL_CACHE */
		char line[CTL_LINE_SIZE]; /* CTL_LINE: ends in NUL, perhaps cut */
	};
};

/*
 * In place of a listener's id in CTL_LISTEN and CTL_UNLISTEN: an inbox (ipc/fdpass.h); slot is then
 * the identity that the master gave it.
 */
#define CTL_INBOX UINT32_C(0)

/* One type of messages in a set. */
#define CTL_TYPE(type) (UINT32_C(1) << (type))

/* One listen of the configuration in a set; those past the 63rd share a place. */
#define CTL_LISTENER(i) (UINT64_C(1) << ((i) < 63 ? (i) : 63))

/* A pair of non-blocking close-on-exec descriptors. 0, or -errno. */
int ctl_pair(int fds[2]);

/*
 * Sends msg and nfds descriptors, which the caller keeps. 0, -EAGAIN when the queue is full,
 * -errno.
 */
int ctl_send(int fd, const struct ctl_msg *msg, const int *fds, int nfds);

/*
 * Receives one message; fds (room for CTL_FDS_MAX) and *nfds: descriptors now owned by the caller,
 * close-on-exec. 1, 0 at the end of file, -EAGAIN, -EMFILE when this process may not have them (the
 * message is there without them, the next one may come through), -EPROTO for a malformed message,
 * -errno.
 */
int ctl_recv(int fd, struct ctl_msg *msg, int *fds, int *nfds);

/*
 * Closes descriptors that another process has sent, by a thread: close(2) may wait, for the peer of
 * a socket that lingers or for a server of files.
 */
void ctl_discard(const int *fds, int nfds);

/*
 * From now on lines that this process logs at the levels alert, error and warn go to the master,
 * too, over fd, which stays the caller's; -1: not any more. So that they never take the room of
 * other messages a few per second are sent: the log has them all.
 */
void ctl_lines_to(int fd);

/* --- a child without a master ----------------------------------------------------------------- */

/*
 * lone: ends a child that its master has left behind and whose loop stands still. While there is a
 * master, its watchdog does so (master/watchdog.c); the kernel tells of the master's death by
 * SIGALRM, and from then on the process looks at itself once a second.
 */

/* In a child of the master, once it is its user, for a change of user takes it back. limit: of
 * seconds that the loop may stand still, of a process that runs; 0: for ever. 0, or -errno. */
int lone_watch(unsigned limit);

/* The loop turns: said once a second, or oftener. */
void lone_turns(void);

/* --- a child's end, on its loop --------------------------------------------------------------- */

/*
 * Worker, acceptor and keeper have one each: it reads messages, asks again for those that came
 * without their descriptors, and tells when the master is gone.
 */
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
	uint32_t lost;      /* messages that came without their descriptors: CTL_TYPE() of each */
	uint64_t lost_ms;   /* the last one */
	uint64_t ticked_ms; /* ctl_link_tick() did, last */
};

/* message and gone are set. fd stays the caller's. 0, or -errno. */
int ctl_link_open(struct ctl_link *l, struct loop *loop, int fd);

/* Closes the link, which need not be open. */
void ctl_link_close(struct ctl_link *l);

/* Every second or so: asks the master again for what was lost, by CTL_AGAIN. */
void ctl_link_look(struct ctl_link *l);

/*
 * For a process without a slot of the scoreboard: tells once a second that it turns, however often
 * it is called; in the middle of a long step too.
 */
void ctl_link_tick(struct ctl_link *l);

/* For message(): one that this process does not know; it keeps no descriptor of it. */
int ctl_link_unknown(const struct ctl_msg *msg);

#endif
