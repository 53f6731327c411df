/*
 * scm: pairs of sockets for messages, and descriptors attached to messages (SCM_RIGHTS, unix(7)).
 */
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Memory for one descriptor. */
union scm_control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

/* Two equal ends, non-blocking and close-on-exec. 0, or -errno. */
static inline int scm_pair(int fds[2])
{
	int type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

	return socketpair(AF_UNIX, type, 0, fds) < 0 ? -errno : 0;
}

/* Attaches n descriptors to mh; control is memory for them. */
static inline void scm_attach(struct msghdr *mh, void *control, const int *fds, size_t n)
{
	size_t bytes = n * sizeof(*fds);
	struct cmsghdr *c = control;

	memset(control, 0, CMSG_SPACE(bytes));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), fds, bytes);
	mh->msg_control = control;
	mh->msg_controllen = CMSG_SPACE(bytes);
}

/* The descriptor that came with mh; -1: none. */
static inline int scm_take(struct msghdr *mh)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(mh);
	int fd = -1;

	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		c->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}
