/*
 * inboxes: those of a generation, one per worker slot, where connections wait that its acceptor has
 * accepted and no worker has taken. The master keeps both ends, as it keeps listening sockets: so
 * neither a worker's death nor the acceptor's loses what waits.
 */
#ifndef H2D_MASTER_INBOXES_H
#define H2D_MASTER_INBOXES_H

struct inboxes {
	int (*ends)[2]; /* of fdpass_pair() */
	unsigned n;     /* 0: none, or they are closed */
};

/* 0, or -errno and none. */
int inboxes_open(struct inboxes *in, unsigned n);

/* The master's ends: what waits is its processes' business from now on. Harmless without any. */
void inboxes_close(struct inboxes *in);

#endif
