/*
 * cpus: the CPUs that h2d may run on. The workers' number and their places come from it, the
 * number of the keeper's threads, and which worker's socket a CPU's connections go to.
 */
#ifndef H2D_MACHINE_CPUS_H
#define H2D_MACHINE_CPUS_H

#include <stdint.h>

enum { CPUS_MAX = 1024 };

/* The CPUs' numbers, rising, at most max; how many. 0: unknown. */
unsigned cpus_allowed(uint16_t *cpus, unsigned max);

/* How many of them the control group leaves processor time for; at least 1. */
unsigned cpus_usable(void);

/* Has this process run on the n-th of them, counted round. */
void cpus_pin(unsigned n);

#endif
