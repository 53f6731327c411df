/*
 * inboxes: those of a generation, one per worker slot, where connections wait that its acceptor has
 * accepted and no worker has taken. The master keeps both ends, as it keeps listening sockets: so
 * neither a worker's death nor the acceptor's loses what waits, and workers of the next generation
 * read on when it leaves.
 */
#ifndef H2D_MASTER_INBOXES_H
#define H2D_MASTER_INBOXES_H

#include <stdint.h>

struct inboxes {
	int (*ends)[2]; /* of fdpass_pair(); the second -1: nobody but the acceptor sends any more
			 */
	unsigned n;     /* 0: none */
	uint32_t first; /* the identity of the first, those of the others follow */
};

/* 0, or -errno and none. */
int inboxes_open(struct inboxes *in, unsigned n);

/* The generation leaves: readers come to the end once the acceptor has closed its ends, too. */
void inboxes_end(struct inboxes *in);

/* Harmless without any. */
void inboxes_close(struct inboxes *in);

#endif
