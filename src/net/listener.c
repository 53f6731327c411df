/* listener: never accepts, and never takes a port or socket file in use by a living process. */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/tcp.h"

static const char *reason_of_bind(int errnum)
{
	switch (errnum) {
	case EADDRINUSE:
		return "address already in use by another process";
	case EADDRNOTAVAIL:
		return "this machine has no such address";
	case EEXIST:
		return "the file is not a socket";
	default:
		return strerror(errnum);
	}
}

static bool is_unix(const struct listener *l)
{
	return l->addr.sa.sa_family == AF_UNIX;
}

/* Returns -1 with errno, for callers to return. */
static int fail_listen(const struct addr *addr, int errnum, char *err, size_t errsize)
{
	char text[ADDR_TEXT];

	addr_format(addr, text, sizeof(text));
	snprintf(err, errsize, "listen %s: %s", text, reason_of_bind(errnum));
	errno = errnum;
	return -1;
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
 * Accepted sockets inherit NODELAY and the limit of unsent bytes, which saves two calls per
 * connection.
 */
static int inherited_options(int fd)
{
	if (set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0)
		return -1;
	return tcp_limit_unsent(fd, TCP_UNSENT_LEAST);
}

/* Closes fd, after a failure; errno stays. -1. */
static int close_failed(int fd)
{
	int errnum = errno;

	close(fd);
	errno = errnum;
	return -1;
}

/*
 * The socket of one slot; -1 with errno. The first one is bound while it does not share and joins
 * the SO_REUSEPORT group only then: between the check and the taking of the port there is no gap.
 * It listens at once, because others may bind to an address without a listener.
 */
static int open_tcp(const struct addr *addr, bool first)
{
	int fd = new_socket(addr->sa.sa_family);

	if (fd < 0)
		return -1;
	if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 || inherited_options(fd) < 0 ||
		(addr->sa.sa_family == AF_INET6 && set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0) ||
		(!first && set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0) ||
		bind(fd, &addr->sa, addr->len) < 0 ||
		(first && (set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0 ||
				  listen(fd, LISTENER_BACKLOG) < 0)))
		return close_failed(fd);
	return fd;
}

/* Unlinks the socket file of a dead process. 0, or the errno why it must stay. */
static int remove_stale(const struct addr *addr)
{
	struct stat st;
	int fd, errnum;

	if (lstat(addr->un.sun_path, &st) < 0)
		return errno == ENOENT ? 0 : errno;
	if (!S_ISSOCK(st.st_mode))
		return EEXIST;
	fd = new_socket(AF_UNIX);
	if (fd < 0)
		return errno;
	/* Only a refusal proves that no process listens; EAGAIN is a live server with a full
	 * queue. */
	errnum = connect(fd, &addr->sa, addr->len) < 0 ? errno : 0;
	close(fd);
	if (errnum == ENOENT)
		return 0;
	if (errnum != ECONNREFUSED)
		return errnum == 0 || errnum == EAGAIN ? EADDRINUSE : errnum;
	return unlink(addr->un.sun_path) < 0 && errno != ENOENT ? errno : 0;
}

/* The descriptor; -1 with errno. */
static int open_unix(struct listener *l, unsigned mode)
{
	const struct addr *addr = &l->addr;
	int errnum = remove_stale(addr);
	struct stat st;
	mode_t mask;
	int fd, r;

	errno = errnum;
	fd = errnum == 0 ? new_socket(AF_UNIX) : -1;
	if (fd < 0)
		return -1;
	/* The mask gives the file its mode from birth; a chmod() after bind() would be late. */
	mask = umask(~mode & 0777);
	r = bind(fd, &addr->sa, addr->len);
	umask(mask);
	if (r < 0)
		return close_failed(fd);
	if (lstat(addr->un.sun_path, &st) < 0 || listen(fd, LISTENER_BACKLOG) < 0) {
		errnum = errno;
		unlink(addr->un.sun_path);
		errno = errnum;
		return close_failed(fd);
	}
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	return fd;
}

static uint32_t last_id;

int listener_open(struct listener *l, const struct addr *addr, unsigned nslots, unsigned mode,
	char *err, size_t errsize)
{
	int fd, errnum;

	H2D_ASSERT(nslots > 0);
	*l = (struct listener){
		.id = ++last_id,
		.addr = *addr,
		.shared = addr->sa.sa_family == AF_UNIX,
		.mine = true,
	};
	l->fds = malloc(sizeof(*l->fds));
	if (l->fds == NULL)
		return fail_listen(addr, ENOMEM, err, errsize);
	fd = is_unix(l) ? open_unix(l, mode) : open_tcp(addr, true);
	if (fd < 0) {
		errnum = errno;
		free(l->fds);
		l->fds = NULL;
		return fail_listen(addr, errnum, err, errsize);
	}
	l->fds[0] = fd;
	l->nslots = l->nlistening = 1;
	/* The port chosen for 0: the other slots, and the caller's next address, need the same. */
	if (!is_unix(l))
		getsockname(fd, &l->addr.sa, &(socklen_t){ sizeof(l->addr.storage) });
	if (listener_resize(l, nslots, err, errsize) < 0) {
		errnum = errno;
		listener_close(l);
		errno = errnum;
		return -1;
	}
	return 0;
}

static int get_int(int fd, int name)
{
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, name, &value, &(socklen_t){ sizeof(value) }) < 0 ? -1
											   : value;
}

/* The fault of a socket from another process; NULL: none. */
static const char *unfit(const struct listener *l, int fd, unsigned n)
{
	struct addr addr = { .len = sizeof(addr.storage) };

	if (get_int(fd, SO_ACCEPTCONN) != 1 || get_int(fd, SO_TYPE) != SOCK_STREAM)
		return "it is not a listening socket";
	if (getsockname(fd, &addr.sa, &addr.len) < 0 || !addr_equal(&addr, &l->addr))
		return "its address differs";
	if (n > 1 && (is_unix(l) || get_int(fd, SO_REUSEPORT) != 1))
		return "several sockets cannot share the address";
	return NULL;
}

int listener_adopt(struct listener *l, const int *fds, unsigned n, char *err, size_t errsize)
{
	const char *wrong = NULL;
	struct stat st;

	H2D_ASSERT(n > 0);
	*l = (struct listener){
		.id = ++last_id, .nslots = n, .nlistening = n, .addr.len = sizeof(l->addr.storage)
	};
	if (getsockname(fds[0], &l->addr.sa, &l->addr.len) < 0)
		return fail_listen(&l->addr, errno, err, errsize);
	for (unsigned i = 0; i < n && wrong == NULL; i++) {
		wrong = unfit(l, fds[i], n);
		if (wrong == NULL &&
			(fcntl(fds[i], F_SETFD, FD_CLOEXEC) < 0 ||
				fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK) < 0 ||
				(!is_unix(l) && inherited_options(fds[i]) < 0)))
			wrong = strerror(errno);
	}
	l->fds = wrong == NULL ? malloc(n * sizeof(*l->fds)) : NULL;
	if (l->fds == NULL) {
		snprintf(err, errsize, "descriptor %d: %s", fds[0],
			wrong != NULL ? wrong : "out of memory");
		return -1;
	}
	memcpy(l->fds, fds, n * sizeof(*l->fds));
	l->shared = is_unix(l) || get_int(fds[0], SO_REUSEPORT) != 1;
	if (is_unix(l) && lstat(l->addr.un.sun_path, &st) == 0) {
		l->dev = st.st_dev;
		l->ino = st.st_ino;
	}
	return 0;
}

int listener_resize(struct listener *l, unsigned nslots, char *err, size_t errsize)
{
	unsigned n = l->nslots;
	int *fds, errnum;

	H2D_ASSERT(nslots > 0 && l->nslots > 0);
	if (nslots > n) {
		fds = realloc(l->fds, nslots * sizeof(*fds));
		if (fds == NULL)
			return fail_listen(&l->addr, ENOMEM, err, errsize);
		l->fds = fds;
	}
	for (; n < nslots; n++) {
		l->fds[n] = l->shared ? l->fds[0] : open_tcp(&l->addr, false);
		if (l->fds[n] < 0) {
			errnum = errno;
			while (n > l->nslots)
				close(l->fds[--n]);
			return fail_listen(&l->addr, errnum, err, errsize);
		}
	}
	for (; n > nslots; n--) {
		if (!l->shared)
			close(l->fds[n - 1]);
	}
	l->nslots = nslots;
	if (l->shared || l->nlistening > nslots)
		l->nlistening = nslots;
	return 0;
}

int listener_listen(struct listener *l, char *err, size_t errsize)
{
	int errnum = 0;

	for (; l->nlistening < l->nslots; l->nlistening++) {
		if (listen(l->fds[l->nlistening], LISTENER_BACKLOG) < 0)
			errnum = errno;
	}
	return errnum == 0 ? 0 : fail_listen(&l->addr, errnum, err, errsize);
}

/* --- sockets that were shut down -------------------------------------------------------------- */

static bool is_shut(const struct listener *l, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	/* A shut-down unix socket still reports that it listens. */
	if (is_unix(l))
		return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLRDHUP)) != 0;
	return get_int(fd, SO_ACCEPTCONN) != 1;
}

bool listener_stands(const struct listener *l, unsigned slot)
{
	int fd = l->fds[slot];

	return !is_shut(l, fd) && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

/* The socket may have become a connection. Only one bound to port 0 has lost it (else EINVAL). */
static int listen_again(const struct listener *l, int fd)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	(void)connect(fd, &none, sizeof(none));
	if (bind(fd, &l->addr.sa, l->addr.len) < 0 && errno != EINVAL)
		return -1;
	return listen(fd, LISTENER_BACKLOG);
}

/* A shut-down unix socket stays so. */
static int replace_unix(struct listener *l, unsigned mode)
{
	int fd;

	if (!l->mine) {
		errno = ESHUTDOWN;
		return -1;
	}
	fd = open_unix(l, mode);
	if (fd < 0)
		return -1;
	if (dup3(fd, l->fds[0], O_CLOEXEC) < 0)
		return close_failed(fd);
	close(fd);
	return 1;
}

int listener_mend(struct listener *l, unsigned slot, unsigned mode, char *err, size_t errsize)
{
	int fd = l->fds[slot], rc = 0;

	if (is_shut(l, fd))
		rc = is_unix(l) ? replace_unix(l, mode) : listen_again(l, fd);
	if (rc == 0)
		rc = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return rc >= 0 ? rc : fail_listen(&l->addr, errno, err, errsize);
}

void listener_close(struct listener *l)
{
	struct stat st;

	if (l->nslots == 0)
		return;
	/* While our socket is open its inode number cannot belong to another file. */
	if (l->mine && is_unix(l) && lstat(l->addr.un.sun_path, &st) == 0 && st.st_dev == l->dev &&
		st.st_ino == l->ino)
		unlink(l->addr.un.sun_path);
	for (unsigned i = 0; i < (l->shared ? 1 : l->nslots); i++)
		close(l->fds[i]);
	free(l->fds);
	l->fds = NULL;
	l->nslots = l->nlistening = 0;
}
