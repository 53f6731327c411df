/* cgroup: small files per group, from the process's own up to the mount. */
#include "machine/cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/file_read.h"
#include "base/log.h"

/* The first line of a file, without its end. -1: none. */
static int first_line(const char *path, char *line, int size)
{
	ssize_t n = file_read(path, line, (size_t)size - 1);

	if (n <= 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* The path in a line "N:CONTROLLERS:PATH", if it is of that controller ("": of version 2); else
 * NULL. */
static const char *path_of(char *line, const char *controller)
{
	char *list = strchr(line, ':'), *path = list != NULL ? strchr(list + 1, ':') : NULL, *rest;

	if (path == NULL)
		return NULL;
	*list++ = *path++ = '\0';
	if (*controller == '\0')
		return *list == '\0' ? path : NULL;
	for (char *one = strtok_r(list, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest))
		if (strcmp(one, controller) == 0)
			return path;
	return NULL;
}

static int own_group(const char *self, const char *controller, char *group, int size)
{
	FILE *f = fopen(self, "re");
	char line[PATH_MAX];
	int rc = -1;

	if (f == NULL)
		return -1;
	while (rc < 0 && fgets(line, sizeof(line), f) != NULL) {
		const char *path;

		line[strcspn(line, "\n")] = '\0';
		path = path_of(line, controller);
		if (path == NULL)
			continue;
		snprintf(group, (size_t)size, "%s", path);
		rc = 0;
	}
	fclose(f);
	return rc;
}

/* "QUOTA PERIOD" or "max PERIOD", both in microseconds. */
static void take_cpus(struct cgroup_limits *limits, const char *line)
{
	uint64_t quota, period, cpus;

	if (sscanf(line, "%" SCNu64 " %" SCNu64, &quota, &period) != 2 || quota == 0 || period == 0)
		return;
	cpus = (quota - 1) / period + 1;
	if (cpus < UINT_MAX && (limits->cpus == 0 || cpus < limits->cpus))
		limits->cpus = (unsigned)cpus;
}

static void take_memory(struct cgroup_limits *limits, const char *line)
{
	uint64_t bytes;

	/* Version 1 has a number for no limit. */
	if (sscanf(line, "%" SCNu64, &bytes) == 1 && bytes > 0 && bytes < UINT64_C(1) << 62 &&
		(limits->memory == 0 || bytes < limits->memory))
		limits->memory = bytes;
}

/* Takes the limits in the files of a directory; the last is version 1's, which is mounted
 * elsewhere. */
static void take_group(const char *folder, struct cgroup_limits *limits)
{
	static const struct {
		const char *name;
		void (*take)(struct cgroup_limits *limits, const char *line);
	} files[] = { { "cpu.max", take_cpus }, { "memory.max", take_memory },
		{ "memory.limit_in_bytes", take_memory } };
	char path[3 * PATH_MAX], line[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		if (first_line(path, line, sizeof(line)) == 0)
			files[i].take(limits, line);
	}
}

/* Takes the limits of the process's group and of all above it. */
static void take_groups(
	const char *self, const char *controller, const char *mount, struct cgroup_limits *limits)
{
	char group[PATH_MAX], folder[2 * PATH_MAX], *slash = group;

	if (own_group(self, controller, group, sizeof(group)) < 0)
		return;
	while (slash != NULL) {
		snprintf(folder, sizeof(folder), "%s%s%s%s", mount, *controller != '\0' ? "/" : "",
			controller, group);
		take_group(folder, limits);
		slash = strrchr(group, '/');
		if (slash != NULL)
			*slash = '\0';
	}
}

struct cgroup_limits cgroup_limits_read(const char *self, const char *mount)
{
	struct cgroup_limits limits = { 0 };

	take_groups(self, "", mount, &limits);
	take_groups(self, "memory", mount, &limits);
	return limits;
}

struct cgroup_limits cgroup_limits(void)
{
	return cgroup_limits_read("/proc/self/cgroup", "/sys/fs/cgroup");
}

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
