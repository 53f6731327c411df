/*
 * worker_client_ca: authorities and lists that the master has sent (CTL_CLIENT_CA), on their way
 * into a worker's handshakes, and out of them. Of a list of 10 MB OpenSSL takes half a second to
 * read, as long to sort, and longer to free: threads do that.
 */
#ifndef H2D_SERVER_WORKER_CLIENT_CA_H
#define H2D_SERVER_WORKER_CLIENT_CA_H

#include "event/offload.h"
#include "sites/client_cas.h"

struct worker_client_ca {
	struct loop *loop;
	struct offload *threads;
	const struct client_cas *cas;
	uint64_t handshake_ms; /* a handshake holds what it began with as long at most */
	struct list replaced;  /* the oldest first */
	struct timer drop;
};

/* All four are the caller's, and stay. */
void worker_client_ca_init(struct worker_client_ca *w, struct loop *l, struct offload *threads,
	const struct client_cas *cas, uint64_t handshake_ms);

/*
 * The parcel in fd, which is no more the caller's, becomes the n-th one of cas: handshakes that
 * begin when it was read check clients by it, unless another one has come for its place meanwhile.
 * What cannot be used is logged, and changes nothing; fd -1: the message came without one.
 */
void worker_client_ca_take(struct worker_client_ca *w, unsigned n, int fd);

/* When the threads are gone. */
void worker_client_ca_fini(struct worker_client_ca *w);

#endif
