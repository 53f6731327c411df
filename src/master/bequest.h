/*
 * bequest: writes down for the program that is to replace this one what it inherits: the state of
 * the master, and descriptors by their numbers. Upgrade calls it; it opens and closes none of them.
 */
#ifndef H2D_MASTER_BEQUEST_H
#define H2D_MASTER_BEQUEST_H

#include "master/handover.h"

struct master;

/* Fills in h, which handover_init() has made. The sealed memfd that tells of it, or -errno. */
int bequest_write(const struct master *m, struct handover *h);

#endif
