/*
 * cgroup: small files per group, from the process's own up to the mount. The master never moves
 * itself, so that it may use the CPUs it was started with.
 */
#include "machine/cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* The first line of a file, without its end. -1: none. */
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
static bool take_group(const char *folder, void *ctx)
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
			files[i].take(ctx, line);
	}
	return false;
}

/* Calls fn for the group's directory and all above it until it returns true; returns if it did. */
static bool cgroup_walk(const char *self, const char *controller, const char *mount,
	bool (*fn)(const char *folder, void *ctx), void *ctx)
{
	char group[PATH_MAX], folder[2 * PATH_MAX], *slash;

	if (own_group(self, controller, group, sizeof(group)) < 0)
		return false;
	for (;;) {
		snprintf(folder, sizeof(folder), "%s%s%s%s", mount, *controller != '\0' ? "/" : "",
			controller, group);
		if (fn(folder, ctx))
			return true;
		slash = strrchr(group, '/');
		if (slash == NULL)
			return false;
		*slash = '\0';
	}
}

struct cgroup_limits cgroup_limits_read(const char *self, const char *mount)
{
	struct cgroup_limits limits = { 0 };

	cgroup_walk(self, "", mount, take_group, &limits);
	cgroup_walk(self, "memory", mount, take_group, &limits);
	return limits;
}

struct cgroup_limits cgroup_limits(void)
{
	return cgroup_limits_read("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* --- kills ------------------------------------------------------------------------------------ */

/* The line "oom_kill N" of a file; false: none. */
static bool kills_in(const char *path, uint64_t *kills)
{
	FILE *f = fopen(path, "re");
	bool found = false;
	char line[128];

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line, "oom_kill %" SCNu64, kills) == 1;
	fclose(f);
	return found;
}

/* A missing directory is of another namespace: one above it is the group's own. */
static bool kills_of_group(const char *folder, void *ctx)
{
	static const char *const files[] = { "memory.events", "memory.oom_control" };
	char path[3 * PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		if (kills_in(path, ctx))
			return true;
	}
	return false;
}

uint64_t cgroup_kills_read(const char *self, const char *mount, const char *vmstat)
{
	uint64_t kills;

	if (cgroup_walk(self, "", mount, kills_of_group, &kills) ||
		cgroup_walk(self, "memory", mount, kills_of_group, &kills) ||
		kills_in(vmstat, &kills))
		return kills;
	return CGROUP_UNTOLD;
}

uint64_t cgroup_kills(void)
{
	return cgroup_kills_read("/proc/self/cgroup", "/sys/fs/cgroup", "/proc/vmstat");
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
