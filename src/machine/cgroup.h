/*
 * cgroup: the limits of h2d's control groups, set by containers and systemd's CPUQuota= and
 * MemoryMax= (cgroups(7); memory of version 1, too).
 */
#pragma once

#include <stdint.h>

struct cgroup_limits {
	unsigned cpus;   /* processor time per second, rounded up to whole seconds; 0: no limit */
	uint64_t memory; /* bytes; 0: no limit */
};

/*
 * The tightest limits of the group that self names (/proc/self/cgroup) and of all above it, below
 * mount (/sys/fs/cgroup). An unreadable one sets no limit.
 */
struct cgroup_limits cgroup_limits_read(const char *self, const char *mount);
struct cgroup_limits cgroup_limits(void);

/*
 * cpus: the CPUs that h2d may run on. They decide the workers' number and places, the number of the
 * keeper's threads, and the worker's socket for a CPU's connections.
 */

enum { CPUS_MAX = 1024 };

/* The CPUs' numbers, rising, at most max; returns how many. 0: unknown. */
unsigned cpus_allowed(uint16_t *cpus, unsigned max);

/* The number of them that have processor time in the control group; at least 1. */
unsigned cpus_usable(void);

/* Pins this process to the n-th of them, counted round. */
void cpus_pin(unsigned n);
