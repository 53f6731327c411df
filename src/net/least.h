/*
 * least: sends each new connection of an address to the open slot with the lowest load. Which
 * connections a slot has is in net/load.h; a socket of an address is known by its slot. Called by
 * the master while it has the right that net/ebpf.h names, and by main for -V.
 */
#ifndef H2D_NET_LEAST_H
#define H2D_NET_LEAST_H

#include "net/load.h"

/* The sockets of an address as a program sees them: a map, by slot; the kernel takes out the ones
 * that are closed. Its descriptor, or -errno. */
int least_sockets_new(void);

/*
 * Attaches to the group of fds the program that chooses among the first n slots; fds[i] is the
 * listening socket of slot i. Where no slot is open the kernel chooses in its own way. 0, or
 * -errno.
 */
int least_attach(const struct load *l, int sockets, const int *fds, unsigned n);

/* Tries the program with so many slots, and attaches nothing: 0, or -errno. */
int least_try(unsigned n);

#endif
