/*
 * reuseport: what chooses among the sockets of one SO_REUSEPORT group, at the SYN. The kernel's
 * own way is a hash of both ends' addresses and ports; a program that is attached to one socket
 * holds for its group, and replaces the one before. A group's sockets count from 0 in the order of
 * their listen(); when one is closed the last one takes its place. The master alone calls this.
 */
#ifndef H2D_NET_REUSEPORT_H
#define H2D_NET_REUSEPORT_H

#include <stdint.h>

enum { REUSEPORT_CPUS = 512 }; /* more are chosen for at random */

/* The kernel's own way again. 0, or -errno. */
int reuseport_hash(int fd);

/*
 * Socket i for what comes in on the i-th of these CPUs. With fewer sockets than CPUs, the next CPU
 * begins at socket 0 again; with more, a CPU has several, chosen at random. Needs no right.
 */
int reuseport_cpu(int fd, const uint16_t *cpus, unsigned ncpus, unsigned nsockets);

/* Chooses among the first n sockets at random: those behind them get nothing new. Needs no right.
 */
int reuseport_first(int fd, unsigned n);

/*
 * The kernel's own way, and what is queued on a socket when it is closed (half-open connections
 * too) goes on to another one instead of being reset. -EPERM without CAP_BPF and CAP_NET_ADMIN.
 */
int reuseport_migrate(int fd);

#endif
