/*
 * mend: checks once a second that the master's listening sockets still accept connections: a
 * worker taken over by an attacker can shut one down, and the socket outlives the worker. A shut-
 * down one is made to listen again; a unix socket is replaced, and the processes are told.
 */
#pragma once

#include "master/child.h"

struct master;
void mend_second(struct master *m);

/* Messages of DUE_SOCKETS: each shared socket of c's generation, again. */
child_fill_fn mend_fill;
