/*
 * basis: what a generation stands on besides its configuration: certificates, the user, file trees,
 * sites. Made by the master before the fork, for a generation or only for -t, which so sees every fault
 * that a start would. Borrows from the configuration.
 */
#ifndef H2D_MASTER_BASIS_H
#define H2D_MASTER_BASIS_H

#include "master/privs.h"
#include "server/certs.h"
#include "server/sites.h"

struct basis {
	struct certs certs;
	struct privs privs;
	struct trees trees;
	const struct sites *sites;
	struct arena memory;        /* of the sites */
};

/*
 * 0, or -1 after at least one fault; basis_fini() is due either way. conf outlives it, and may be faulty:
 * then what else is wrong is found.
 */
int basis_init(struct basis *b, const struct conf *conf, conf_fault_fn *fault, void *ctx);

/* A basis of zeros is none. */
void basis_fini(struct basis *b);

#endif
