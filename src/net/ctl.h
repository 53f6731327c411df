/*
 * ctl: the messages between the master and its children, over one SOCK_SEQPACKET socketpair each,
 * with descriptors attached (SCM_RIGHTS, unix(7)). End of file means that the other side died.
 */
#ifndef H2D_NET_CTL_H
#define H2D_NET_CTL_H

#include <stdint.h>

#include "base/cache_facts.h"

enum { CTL_FDS_MAX = 64 };

enum ctl_type {
	CTL_UP = 1,    /* child → master: serving */
	CTL_IMAGE,     /* keeper → master → workers: number, with descriptors: index, marks, … */
	CTL_DRAIN,     /* master → child: finish what you have, then leave; arg: milliseconds */
	CTL_CACHE,     /* keeper → master: facts */
	CTL_LOGS,      /* master → child: the reopened error log and access log (if any) */
};

struct ctl_msg {
	uint32_t type;
	uint32_t generation;
	uint64_t arg;      /* CTL_IMAGE: the image's number */
	uint64_t size;     /* CTL_IMAGE: bytes of content */
	struct cache_facts facts; /* CTL_CACHE */
};

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
 * message is lost, the next one may come through), -EPROTO for a malformed message, -errno.
 */
int ctl_recv(int fd, struct ctl_msg *msg, int *fds, int *nfds);

#endif
