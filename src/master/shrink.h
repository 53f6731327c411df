/*
 * shrink: closes the listening sockets that a generation with fewer workers has no slot for. Its
 * workers accept from them, dealt out, until the generations before are gone; then nothing new
 * comes there, what is queued goes on to other sockets or has been taken, and the last holder
 * closes. Reload begins it, supervise asks it for messages.
 */
#ifndef H2D_MASTER_SHRINK_H
#define H2D_MASTER_SHRINK_H

#include "master/child.h"

struct master;

void shrink_init(struct master *m);

/* Another generation serves. */
void shrink_begin(struct master *m);

/* Everything ends. */
void shrink_stop(struct master *m);

/* Messages of DUE_UNLISTEN: each socket that was closed. */
child_fill_fn shrink_fill;

#endif
