/*
 * reuseport: programs that choose a socket of a SO_REUSEPORT group, at the SYN. The kernel's
 * default is a hash of both ends' addresses and ports; a program attached to one socket applies to
 * its group, and replaces the one before. A group's sockets count from 0 in the order of their
 * listen(); when one is closed the last one takes its place. The master alone calls this.
 */
#pragma once

#include <stdint.h>

enum { REUSEPORT_CPUS = 512 }; /* further ones are chosen at random */

/* Restores the kernel's hash. 0, or -errno. */
int reuseport_hash(int fd);

/*
 * Chooses socket i for packets on the i-th of these CPUs. With fewer sockets than CPUs, the next
 * CPU begins at socket 0 again; with more, a CPU has several, chosen at random. Needs no
 * capability.
 */
int reuseport_cpu(int fd, const uint16_t *cpus, unsigned ncpus, unsigned nsockets);

/* Chooses among the first n sockets at random: the others get no new connections. Needs no
 * capability. */
int reuseport_first(int fd, unsigned n);

/*
 * Keeps the kernel's hash, and moves the queue of a closed socket (half-open connections too) to
 * another one instead of resetting it. -EPERM without CAP_BPF and CAP_NET_ADMIN.
 */
int reuseport_migrate(int fd);
