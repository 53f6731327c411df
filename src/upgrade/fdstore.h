/*
 * fdstore: keeps listening sockets in the service manager (FDSTORE=1 of sd_notify(3)), so that they
 * outlive a dead master: queued connections wait for the next one, which gets the sockets back by
 * activation. Only if the manager accepts descriptors, by $FDSTORE. Sockets that it passed itself
 * are not stored, and those whose port was picked by the kernel cannot be found.
 */
#pragma once

#include <stdbool.h>

#include "net/listener.h"

enum { FDSTORE_NAME = 160 };

/* True if the service manager takes sockets. */
bool fdstore_is_on(void);

/* Puts the sockets of l into the store, and removes others of its address. */
void fdstore_put(const struct listener *l);

/* The address is given up: removes it with its sockets. */
void fdstore_remove(const struct listener *l);

void fdstore_remove_name(const char *name);

/* Waits, a second at most, until removed sockets are closed in the store. */
void fdstore_settle(void);

/* The name of l, which has no colon. */
void fdstore_name(const struct listener *l, char buf[FDSTORE_NAME]);

/* True for such a name in LISTEN_FDNAMES. */
bool fdstore_is_name(const char *name);

/* True if the file of a unix socket is the one that had that name. */
bool fdstore_is_file(const char *name, const struct addr *addr);
