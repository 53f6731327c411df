/*
 * shrink: closes the listening sockets that a generation with fewer workers has no slot for. Its
 * workers accept from them, dealt out, until the generations before are gone; then nothing new
 * comes there, what is queued goes on to other sockets or has been taken, and the last holder
 * closes. Reload begins it, supervise asks it for messages.
 */
#ifndef H2D_MASTER_SHRINK_H
#define H2D_MASTER_SHRINK_H

#include <stdbool.h>

#include "master/child.h"

struct master;

void shrink_init(struct master *m);

/* Another generation serves. */
void shrink_begin(struct master *m);

/* Everything ends. */
void shrink_stop(struct master *m);

/* Messages of DUE_UNLISTEN: each socket that was closed. */
child_fill_fn shrink_fill;

/*
 * balance: has the kernel choose the worker of a new connection as the generation that serves
 * wants it. Called when a generation is put in its place, and when a socket was replaced or closed.
 */

struct listener;

/* For all listening sockets. Where the kernel refuses there is a warning, and hash. */
void balance_apply(struct master *m);

/*
 * The slots of l from the n-th on leave: whether the kernel hands on what is queued there when they
 * are closed. If not, nothing new is queued there from now on.
 */
bool balance_steer(const struct master *m, const struct listener *l, unsigned n);

#endif
