/*
 * listener: listening sockets of one address: for TCP one SO_REUSEPORT socket per worker slot, for
 * a unix address one that all share. Opened by the master before the fork and kept across worker
 * deaths and reloads, because closing one resets the connections queued on it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/addr.h"

enum { LISTENER_BACKLOG = 4096 }; /* connections that may be queued; cut by net.core.somaxconn */

struct listener {
	uint32_t id; /* unique for as long as the master lives */
	struct addr addr;
	bool shared; /* all slots have the same socket: a unix address, or no SO_REUSEPORT */
	bool mine;   /* the address is ours to release: another process may have the sockets too */
	int *fds;    /* one per slot; for unix all the same descriptor */
	unsigned nslots;
	unsigned nlistening; /* the first so many; the others are bound and get no connections */
	dev_t dev;           /* unix: the file we made; only that is unlinked */
	ino_t ino;
};

/*
 * Opens nslots sockets, of which the first listens: it proves that the address is ours, and the
 * others get no connection before listener_listen(). A TCP address is first bound without
 * SO_REUSEPORT, so that a port in use is an error instead of being shared with a stranger. Port 0
 * takes a free one and writes it into l->addr. A stale unix socket file (connect() refused) is
 * replaced; mode is its file mode. 0, or -1 with errno and a message in err.
 */
int listener_open(struct listener *l, const struct addr *addr, unsigned nslots, unsigned mode,
	char *err, size_t errsize);

/*
 * Takes listening sockets of one address, addr, that another process opened. A socket without
 * SO_REUSEPORT is shared by all slots. The address stays the other's until l->mine is set. 0: the
 * descriptors belong to l; or -1 with a message in err.
 */
int listener_adopt(struct listener *l, const int *fds, unsigned n, char *err, size_t errsize);

/*
 * More slots: binds the missing sockets beside the existing ones. Fewer: closes the last ones. 0,
 * or -1 with errno, a message in err, and l as it was.
 */
int listener_resize(struct listener *l, unsigned nslots, char *err, size_t errsize);

/*
 * Has all slots listen, in their order. 0, or -1 with errno and a message in err: some do not, and
 * the others get their share.
 */
int listener_listen(struct listener *l, char *err, size_t errsize);

/* True if the socket of a listening slot still listens without blocking a process in accept(2). */
bool listener_stands(const struct listener *l, unsigned slot);

/*
 * Repairs a socket that does not stand. 0: it is still the same; 1: another has its place and
 * descriptor, and holders of the old one must get it; -1 with errno and a message in err. mode: see
 * listener_open().
 */
int listener_mend(struct listener *l, unsigned slot, unsigned mode, char *err, size_t errsize);

/*
 * Closes all; unlinks a unix socket file if the address is ours. Called by the master only: a child
 * just closes the descriptors.
 */
void listener_close(struct listener *l);
