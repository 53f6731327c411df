/*
 * doubt: the message by which a worker tells a keeper that a name may have changed, and its answer.
 * All workers of a generation write to one end of a SOCK_SEQPACKET pair, its keeper reads the
 * other. Each message has the socket for the answer, so a keeper need not know its workers, and
 * unread messages of a dead keeper are left to the next one. No call blocks.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/scm.h"
#include "base/slice.h"

/* Precedes the path, which begins with "/" and does not end in one. */
struct doubt_msg {
	uint64_t id;       /* the worker's own: returned in the answer */
	uint64_t dev, ino; /* of the root: its number may change in a reload */
};

/* answer is sent along and stays the caller's. 0, -EAGAIN if the queue is full, -errno. */
int doubt_send(int fd, const struct doubt_msg *msg, struct slice path, int answer);

/*
 * path: NUL-terminated. *answer: for doubt_answer(), -1 if this process may have no more
 * descriptors. 1, 0 at the end of file, -EAGAIN, -EPROTO for an invalid message, -errno.
 */
int doubt_recv(int fd, struct doubt_msg *msg, char path[PATH_MAX], int *answer);

/* True if no message will come to fd: a worker has shut down their end, for all of them. */
bool doubt_is_shut(int fd);

/* Answers that no image has the name as fresh any more. Closes answer; -1: none. */
void doubt_answer(int answer, uint64_t id);

/* Tells all writers to the other end of fd that no image is used and no message will be read. */
void doubt_farewell(int fd);

/* True if a farewell was sent to the writers to fd. Each of them can see it. */
bool doubt_has_farewell(int fd);

/* The next answer. 1, -EAGAIN, -EPROTO: invalid, -errno. */
int doubt_answered(int fd, uint64_t *id);
