/*
 * fdstore: keeps listening sockets in the service manager (FDSTORE=1 of sd_notify(3)), so that they
 * outlive a master that dies: what is queued on them waits for the next one, which gets them back
 * by activation. Only where the manager says by $FDSTORE that it takes descriptors. Sockets that
 * it passed itself are not stored, and those whose port was picked by the kernel cannot be found.
 */
#ifndef H2D_UPGRADE_FDSTORE_H
#define H2D_UPGRADE_FDSTORE_H

#include <stdbool.h>

#include "net/listener.h"

enum { FDSTORE_NAME = 160 };

/* Whether the service manager takes sockets. */
bool fdstore_is_on(void);

/* Has the store hold the sockets of l, and no others of its address. */
void fdstore_put(const struct listener *l);

/* The address is given up: out of the store with its sockets. */
void fdstore_remove(const struct listener *l);

void fdstore_remove_name(const char *name);

/* Waits, a second at most, until what was taken out of the store is closed there. */
void fdstore_settle(void);

/* The name of l, which has no colon. */
void fdstore_name(const struct listener *l, char buf[FDSTORE_NAME]);

/* Whether a name of LISTEN_FDNAMES is such a one. */
bool fdstore_is_name(const char *name);

/* Whether the file of a unix socket is the one that was there when it got that name. */
bool fdstore_is_file(const char *name, const struct addr *addr);

#endif
