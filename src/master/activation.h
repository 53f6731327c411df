/*
 * activation: sockets that the service manager passes at the start (LISTEN_FDS, sd_listen_fds(3)):
 * those of a socket unit, which stay the manager's, and those that this service had stored with
 * it, which are ours again (see fdstore.h). A listen of the configuration finds them by address.
 */
#ifndef H2D_MASTER_ACTIVATION_H
#define H2D_MASTER_ACTIVATION_H

#include "master/sockets.h"

/* Adds them to s, once, and takes the variables out of the environment. */
void activation_take(struct sockets *s);

#endif
