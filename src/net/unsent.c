/*
 * unsent: two calls to the kernel for a TCP socket. Called by listener.c for what it opens, and by
 * src/conn/ for a connection; it never changes a socket by itself.
 */
#include "net/unsent.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int unsent_limit(int fd, int max)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &max, sizeof(max));
}

size_t unsent_bytes(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQNSD, &n) == 0 && n > 0 ? (size_t)n : 0;
}
