/*
 * listener: opens, resizes and closes the listening sockets of one address. Called by the master
 * and by nobody else, single-threaded and before any fork that should inherit the sockets. It
 * never accepts, and it never takes a port or a socket file that somebody alive is using.
 */
#include "net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

enum {
	BACKLOG = 4096,              /* cut by net.core.somaxconn */
	NOTSENT_LOWAT = 128 * 1024,  /* an urgent stream waits behind no more in the kernel */
};

/* Always -1, so that callers can return it. */
static int fail(const struct addr *addr, const char *why, char *err, size_t errsize)
{
	char text[ADDR_TEXT];

	addr_format(addr, text, sizeof(text));
	snprintf(err, errsize, "listen %s: %s", text, why);
	return -1;
}

static const char *reason(int errnum)
{
	switch (errnum) {
	case EADDRINUSE:
		return "address already in use by another process";
	case EADDRNOTAVAIL:
		return "this machine has no such address";
	default:
		return strerror(errnum);
	}
}

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/*
 * NODELAY and NOTSENT_LOWAT are inherited by what is accepted, which saves two calls per
 * connection.
 */
static int tcp_options(int fd, int family)
{
	if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 ||
	    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0 ||
	    set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_LOWAT) < 0)
		return -1;
	return family == AF_INET6 ? set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) : 0;
}

/*
 * The socket of one slot; -1 with errno. The first one is bound while it does not share and joins
 * the SO_REUSEPORT group only then: between the check and the taking of the port there is no gap.
 */
static int open_tcp(const struct addr *addr, bool first)
{
	int fd = new_socket(addr->sa.sa_family);
	int errnum;

	if (fd < 0)
		return -1;
	if (tcp_options(fd, addr->sa.sa_family) < 0)
		goto fail;
	if (!first && set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		goto fail;
	if (bind(fd, &addr->sa, addr->len) < 0)
		goto fail;
	if (first && set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		goto fail;
	if (listen(fd, BACKLOG) < 0)
		goto fail;
	return fd;
fail:
	errnum = errno;
	close(fd);
	errno = errnum;
	return -1;
}

/* Unlinks the socket file of a process that is gone. NULL, or why it must stay. */
static const char *remove_stale(const struct addr *addr)
{
	struct stat st;
	int fd, errnum;

	if (lstat(addr->un.sun_path, &st) < 0)
		return errno == ENOENT ? NULL : strerror(errno);
	if (!S_ISSOCK(st.st_mode))
		return "the file exists and is no socket";
	fd = new_socket(AF_UNIX);
	if (fd < 0)
		return strerror(errno);
	/* Only a refusal proves that nobody listens; EAGAIN is a live server with a full queue. */
	errnum = connect(fd, &addr->sa, addr->len) < 0 ? errno : 0;
	close(fd);
	if (errnum == ENOENT)
		return NULL;
	if (errnum != ECONNREFUSED)
		return reason(errnum == 0 || errnum == EAGAIN ? EADDRINUSE : errnum);
	return unlink(addr->un.sun_path) < 0 && errno != ENOENT ? strerror(errno) : NULL;
}

/* The descriptor; -1 with a message in err. */
static int open_unix(struct listener *l, unsigned mode, char *err, size_t errsize)
{
	const struct addr *addr = &l->addr;
	const char *why = remove_stale(addr);
	struct stat st;
	mode_t mask;
	int fd, r;

	if (why != NULL)
		return fail(addr, why, err, errsize);
	fd = new_socket(AF_UNIX);
	if (fd < 0)
		return fail(addr, strerror(errno), err, errsize);
	/* By the mask the file has its mode from birth; a chmod() after bind() would come late. */
	mask = umask(~mode & 0777);
	r = bind(fd, &addr->sa, addr->len);
	umask(mask);
	if (r < 0) {
		fail(addr, reason(errno), err, errsize);
		close(fd);
		return -1;
	}
	if (lstat(addr->un.sun_path, &st) < 0 || listen(fd, BACKLOG) < 0) {
		fail(addr, strerror(errno), err, errsize);
		unlink(addr->un.sun_path);
		close(fd);
		return -1;
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return fd;
}

int listener_open(struct listener *l, const struct addr *addr, unsigned nslots, unsigned mode,
	char *err, size_t errsize)
{
	int fd;

	H2D_ASSERT(nslots > 0);
	memset(l, 0, sizeof(*l));
	l->addr = *addr;
	l->fds = malloc(sizeof(*l->fds));
	if (l->fds == NULL)
		return fail(addr, strerror(ENOMEM), err, errsize);
	if (addr->sa.sa_family == AF_UNIX) {
		fd = open_unix(l, mode, err, errsize);
	} else {
		fd = open_tcp(addr, true);
		if (fd < 0)
			fail(addr, reason(errno), err, errsize);
	}
	if (fd < 0) {
		free(l->fds);
		l->fds = NULL;
		return -1;
	}
	l->fds[0] = fd;
	l->nslots = 1;
	/* The port that 0 became: the other slots, and the caller's next address, need the same. */
	if (addr->sa.sa_family != AF_UNIX)
		getsockname(fd, &l->addr.sa, &(socklen_t){ sizeof(l->addr.storage) });
	if (listener_resize(l, nslots, err, errsize) < 0) {
		listener_close(l);
		return -1;
	}
	return 0;
}

int listener_resize(struct listener *l, unsigned nslots, char *err, size_t errsize)
{
	bool shared = l->addr.sa.sa_family == AF_UNIX;
	unsigned n = l->nslots;
	int *fds;

	H2D_ASSERT(nslots > 0 && l->nslots > 0);
	if (nslots > n) {
		fds = realloc(l->fds, nslots * sizeof(*fds));
		if (fds == NULL)
			return fail(&l->addr, strerror(ENOMEM), err, errsize);
		l->fds = fds;
	}
	for (; n < nslots; n++) {
		l->fds[n] = shared ? l->fds[0] : open_tcp(&l->addr, false);
		if (l->fds[n] < 0) {
			fail(&l->addr, reason(errno), err, errsize);
			while (n > l->nslots)
				close(l->fds[--n]);
			return -1;
		}
	}
	for (; n > nslots; n--) {
		if (!shared)
			close(l->fds[n - 1]);
	}
	l->nslots = nslots;
	return 0;
}

void listener_close(struct listener *l)
{
	bool shared = l->addr.sa.sa_family == AF_UNIX;
	struct stat st;

	if (l->nslots == 0)
		return;
	/* While our socket is open its inode number cannot belong to another file. */
	if (shared && lstat(l->addr.un.sun_path, &st) == 0 && st.st_dev == l->dev &&
	    st.st_ino == l->ino)
		unlink(l->addr.un.sun_path);
	for (unsigned i = 0; i < (shared ? 1 : l->nslots); i++)
		close(l->fds[i]);
	free(l->fds);
	l->fds = NULL;
	l->nslots = 0;
}
