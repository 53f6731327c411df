/*
 * cgroup: what the control groups that h2d is in allow it, as containers and systemd's CPUQuota=
 * and MemoryMax= set them (cgroups(7), version 2). Read when a generation is built; a machine
 * without such groups limits nothing.
 */
#ifndef H2D_MASTER_CGROUP_H
#define H2D_MASTER_CGROUP_H

#include <stdint.h>

struct cgroup_limits {
	unsigned cpus;   /* processor time per second, rounded up to whole seconds; 0: no limit */
	uint64_t memory; /* bytes; 0: no limit */
};

/*
 * The tightest limits of the group that self names (/proc/self/cgroup) and of all above it, below
 * mount (/sys/fs/cgroup). What cannot be read limits nothing.
 */
struct cgroup_limits cgroup_limits_read(const char *self, const char *mount);

/* Those of this process. */
struct cgroup_limits cgroup_limits(void);

#endif
