/*
 * cgroup: two small files per group, from the process's own up to the mount. Called by child_kind
 * for the number of workers and by host_check; changes nothing.
 */
#include "master/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The first line of a file, without its end. -1: there is none. */
static int first_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");
	char *got;

	if (f == NULL)
		return -1;
	got = fgets(line, size, f);
	fclose(f);
	if (got == NULL)
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* The group of version 2, "0::/PATH", is the last or the only line. */
static int own_group(const char *self, char *group, int size)
{
	FILE *f = fopen(self, "re");
	char line[PATH_MAX];
	int rc = -1;

	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		snprintf(group, (size_t)size, "%s", line + 3);
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

	if (sscanf(line, "%" SCNu64, &bytes) == 1 && bytes > 0 &&
		(limits->memory == 0 || bytes < limits->memory))
		limits->memory = bytes;
}

static void take_group(struct cgroup_limits *limits, const char *mount, const char *group)
{
	char path[2 * PATH_MAX], line[64];

	snprintf(path, sizeof(path), "%s%s/cpu.max", mount, group);
	if (first_line(path, line, sizeof(line)) == 0)
		take_cpus(limits, line);
	snprintf(path, sizeof(path), "%s%s/memory.max", mount, group);
	if (first_line(path, line, sizeof(line)) == 0)
		take_memory(limits, line);
}

struct cgroup_limits cgroup_limits_read(const char *self, const char *mount)
{
	struct cgroup_limits limits = { 0 };
	char group[PATH_MAX], *slash;

	if (own_group(self, group, sizeof(group)) < 0)
		return limits;
	while ((slash = strrchr(group, '/')) != NULL) {
		take_group(&limits, mount, group);
		*slash = '\0';
	}
	take_group(&limits, mount, "");
	return limits;
}

struct cgroup_limits cgroup_limits(void)
{
	return cgroup_limits_read("/proc/self/cgroup", "/sys/fs/cgroup");
}
