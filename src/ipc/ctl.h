/*
 * ctl: the messages between the master and its children, over one SOCK_SEQPACKET socketpair each,
 * with descriptors attached (SCM_RIGHTS, unix(7)). End of file means that the other side died. The
 * caller interprets the messages.
 */
#pragma once

#include <stdint.h>

#include "base/cache_facts.h"
#include "base/scm.h"
#include "event/loop.h"

enum { CTL_FDS_MAX = 64 };

enum ctl_type {
	CTL_UP = 1, /* child → master: serving */
	CTL_IMAGE,  /* keeper → master → workers: number, with descriptors: index, marks, … */
	CTL_DRAIN, /* master → child: finish your requests, then exit; closing; arg 1: h2d stops, 0:
		    * another generation serves */
	CTL_CACHE,  /* keeper → master: facts */
	CTL_LOGS,   /* master → child: the reopened error log (if any) and access logs */
	CTL_KEEPER, /* master → worker: the descriptor on which another generation's keeper reads
		     * doubts */
	CTL_LISTEN, /* master → worker: a socket or inbox that may have no server: listener, slot */
	CTL_UNLISTEN, /* master → worker: the slot is served again, or closed: listener, slot */
	CTL_TICK,     /* child → master, without a slot of the scoreboard: its loop turns */
	CTL_SERVE,    /* master → child: its generation serves, accept from now on; arg 1: health
		       * reports that h2d will soon exit */
	CTL_FULL,  /* worker → master: arg 1: it has no room for connections; 0: it has again */
	CTL_AGAIN, /* child → master: messages were lost without descriptors; arg: CTL_TYPE() of
		      each */
	CTL_LINE,  /* child → master: it logged line; arg: its enum log_level */
	CTL_SHOW, /* worker → master → the other workers: show your connections on the scoreboard */
};

enum { CTL_LINE_SIZE = 256, CTL_LINES_PER_SECOND = 16 };

struct ctl_msg {
	uint32_t type;
	uint64_t arg;            /* CTL_IMAGE: the image's number */
	uint64_t size;           /* CTL_IMAGE: bytes of content */
	uint64_t closing;        /* CTL_DRAIN: CTL_LISTENER() of each that no process will serve */
	uint32_t listener, slot; /* CTL_LISTEN, CTL_UNLISTEN: its id, and which of its sockets */
	union {
		struct cache_facts facts; /* CTL_CACHE */
		char line[CTL_LINE_SIZE]; /* CTL_LINE: ends in NUL, may be cut */
	};
};

/*
 * Replaces a listener's id in CTL_LISTEN and CTL_UNLISTEN: an inbox (ipc/fdpass.h); slot is then
 * its identity from the master.
 */
#define CTL_INBOX UINT32_C(0)

/* A type of messages in a set. */
#define CTL_TYPE(type) (UINT32_C(1) << (type))

/* A listen of the configuration in a set; those after the 63rd share a bit. */
#define CTL_LISTENER(i) (UINT64_C(1) << ((i) < 63 ? (i) : 63))

/*
 * Sends msg and nfds descriptors, which stay the caller's. 0, -EAGAIN when the queue is full,
 * -errno.
 */
int ctl_send(int fd, const struct ctl_msg *msg, const int *fds, int nfds);

/*
 * Receives one message; fds (room for CTL_FDS_MAX) and *nfds: descriptors now owned by the caller,
 * close-on-exec. 1, 0 at the end of file, -EAGAIN, -EMFILE when this process may have no more (the
 * message came without them, a next one may succeed), -EPROTO for a malformed message, -errno.
 */
int ctl_recv(int fd, struct ctl_msg *msg, int *fds, int *nfds);

/*
 * Closes descriptors from another process, in a thread: close(2) may wait, for the peer of a socket
 * that lingers or for a file server.
 */
void ctl_discard(const int *fds, int nfds);

/*
 * Sends lines that this process logs at the levels alert, error and warn to the master, too, over
 * fd, which stays the caller's; -1: no more. A few per second are sent, to leave room for other
 * messages; the log has them all.
 */
void ctl_lines_to(int fd);

/* --- a child's end, on its loop --------------------------------------------------------------- */

/*
 * For each worker, acceptor and keeper: reads messages, asks again for those that came without
 * their descriptors, and reports the end of the master.
 */
struct ctl_link {
	/*
	 * A message; fds are good for the call. Returns how many, the first ones, the callee keeps:
	 * the others are closed.
	 */
	int (*message)(struct ctl_link *l, const struct ctl_msg *msg, const int *fds, int nfds);
	/* The master died, or the socket is broken: no message will come. Called once. */
	void (*gone)(struct ctl_link *l);
	struct loop *loop;
	struct watch watch;
	uint32_t lost;      /* messages that came without their descriptors: CTL_TYPE() of each */
	uint64_t lost_ms;   /* time of the last one */
	uint64_t ticked_ms; /* last time of ctl_link_tick() */
};

/* Opens l, whose message and gone are set. fd stays the caller's. 0, or -errno. */
int ctl_link_open(struct ctl_link *l, struct loop *loop, int fd);
void ctl_link_close(struct ctl_link *l);

/* Called about every second: asks the master again for lost messages, by CTL_AGAIN. */
void ctl_link_look(struct ctl_link *l);

/*
 * For a process without a slot of the scoreboard: reports once a second that it turns, however
 * often it is called; also within a long step.
 */
void ctl_link_tick(struct ctl_link *l);

/* For message(): an unknown type; keeps no descriptor of it. */
int ctl_link_unknown(const struct ctl_msg *msg);
