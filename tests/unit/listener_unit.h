/*
 * listener_unit: a group of SLOTS listening sockets on a port of loopback, clients, and what each
 * socket has queued. For tests of the programs that choose among them.
 */
#pragma once

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/listener.h"
#include "unit.h"

enum { SLOTS = 4 };

static struct listener l;

static void listener_up(void)
{
	struct addr addr;
	char err[256];

	ck_assert_ptr_null(addr_parse("127.0.0.1:0", &addr));
	ck_assert_msg(listener_open(&l, &addr, SLOTS, 0, err, sizeof(err)) == 0, "%s", err);
	ck_assert_msg(listener_listen(&l, err, sizeof(err)) == 0, "%s", err);
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, &l.addr.sa, l.addr.len), 0);
	return fd;
}

/* Accepts all that is queued; what came is closed. */
static unsigned empty(unsigned slot)
{
	unsigned n = 0;
	int fd;

	for (; (fd = accept(l.fds[slot], NULL, NULL)) >= 0; n++)
		close(fd);
	ck_assert_int_eq(errno, EAGAIN);
	return n;
}
