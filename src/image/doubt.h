/*
 * doubt: the message by which a worker tells a keeper that a name may have changed, and its answer.
 * All workers of a generation write to one end of a SOCK_SEQPACKET pair, its keeper reads the
 * other. Each message brings the socket to answer on, so a keeper knows nothing of its workers, and
 * what a keeper that died has not read is left to the next one. Nothing here blocks.
 */
#ifndef H2D_IMAGE_DOUBT_H
#define H2D_IMAGE_DOUBT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* In front of the path, which begins with "/" and names no directory. */
struct doubt_msg {
	uint64_t id;       /* the worker's own: comes back as the answer */
	uint64_t dev, ino; /* of the root: a number would mean another one after a reload */
};

/* Two ends, alike, non-blocking and close-on-exec. 0, or -errno. */
int doubt_pair(int fds[2]);

/* answer goes along and stays the caller's. 0, -EAGAIN if the queue is full, -errno. */
int doubt_send(int fd, const struct doubt_msg *msg, struct slice path, int answer);

/*
 * path: NUL-terminated. *answer: for doubt_answer(), -1 if this process may have no further
 * descriptor. 1, 0 at the end of file, -EAGAIN, -EPROTO for what is no such message, -errno.
 */
int doubt_recv(int fd, struct doubt_msg *msg, char path[PATH_MAX], int *answer);

/* Whether nothing comes to fd any more: a worker has shut down their end, for all of them. */
bool doubt_is_shut(int fd);

/* No image says any more that the name is fresh. Closes answer; -1 is nothing to answer on. */
void doubt_answer(int answer, uint64_t id);

/* To all that write to the other end of fd: no image is used any more, and nobody reads here again.
 */
void doubt_farewell(int fd);

/* Whether a farewell was sent to those that write to fd. It stays to be seen by each of them. */
bool doubt_has_farewell(int fd);

/* The next answer. 1, -EAGAIN, -EPROTO for what is none, -errno. */
int doubt_answered(int fd, uint64_t *id);

#endif
