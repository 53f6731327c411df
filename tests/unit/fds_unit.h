/* fds_unit: how many descriptors this process has, for tests of what leaks none, and messages with
 * any number of them. */
#pragma once

#include <dirent.h>

#include "unit.h"

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* Sends n bytes with nfds copies of fd, as they are. */
static inline void send_fds(int to, void *p, size_t n, int fd, int nfds)
{
	struct iovec iov = { .iov_base = p, .iov_len = n };
	char buf[CMSG_SPACE(128 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *head = (struct cmsghdr *)(void *)buf;

	if (nfds > 0) {
		mh.msg_control = head;
		mh.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
		for (size_t i = 0; i < (size_t)nfds; i++)
			memcpy(CMSG_DATA(head) + i * sizeof(fd), &fd, sizeof(fd));
	}
	ck_assert_int_eq(sendmsg(to, &mh, MSG_NOSIGNAL), (int)n);
}
