/*
 * cpus: asks the kernel where h2d may run. The master never changes its own place, so that what it
 * may use is what it was started with; a worker pins itself after the fork.
 */
#include "machine/cpus.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/log.h"
#include "machine/cgroup.h"

unsigned cpus_allowed(uint16_t *cpus, unsigned max)
{
	unsigned n = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < max; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = (uint16_t)cpu;
	return n;
}

unsigned cpus_usable(void)
{
	uint16_t cpus[CPUS_MAX];
	unsigned n = cpus_allowed(cpus, CPUS_MAX), quota = cgroup_limits().cpus;

	if (quota != 0 && quota < n)
		return quota;
	return n > 0 ? n : 1;
}

void cpus_pin(unsigned n)
{
	uint16_t cpus[CPUS_MAX];
	unsigned ncpus = cpus_allowed(cpus, CPUS_MAX);
	cpu_set_t one;

	if (ncpus == 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpus[n % ncpus], &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		log_warn("cannot pin to CPU %u: %s", cpus[n % ncpus], strerror(errno));
}
