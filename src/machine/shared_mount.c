/*
 * shared_mount: reads /proc/self/mountinfo (proc(5)). It never asks a file system what it is: one
 * that hangs would hold up the master.
 */
#include "machine/shared_mount.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Beginnings of types: fuse.glusterfs, nfs4. */
static const char *const shared[] = { "nfs", "cifs", "smb3", "ceph", "fuse.", "9p", "virtiofs",
	"afs", "lustre", "gpfs", "ocfs2", "gfs2" };

static bool is_shared(const char *type)
{
	if (strcmp(type, "fuse") == 0)
		return true;
	for (unsigned i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (strncmp(type, shared[i], strlen(shared[i])) == 0)
			return true;
	return false;
}

/* "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw": the type is behind the dash. */
static bool is_of(const char *line, dev_t dev, char type[SHARED_MOUNT_TYPE])
{
	const char *dash = strstr(line, " - ");
	unsigned major, minor;

	return dash != NULL && sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
	       makedev(major, minor) == dev && sscanf(dash, " - %31s", type) == 1;
}

bool shared_mount(const char *path, char type[SHARED_MOUNT_TYPE])
{
	char line[8192];
	struct stat st;
	bool found = false;
	FILE *f;

	if (stat(path, &st) < 0)
		return false;
	f = fopen("/proc/self/mountinfo", "re");
	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = is_of(line, st.st_dev, type);
	if (f != NULL)
		fclose(f);
	return found && is_shared(type);
}
