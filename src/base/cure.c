/*
 * cure: knows what systemd/h2d.service.in takes from the master: most of the disk to write to,
 * root's way past modes, and everybody's /tmp. See UNDER SYSTEMD of h2d(8).
 */
#include "base/cure.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_temporary(const char *path)
{
	return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0;
}

const char *cure_of(int error, const char *path)
{
	if (error == EROFS)
		return " (under systemd, name its folder in ReadWritePaths=: systemctl edit h2d)";
	if (error == EACCES && geteuid() == 0)
		return " (root has no way past modes here: chown root, or under systemd, "
		       "CapabilityBoundingSet=CAP_DAC_READ_SEARCH: systemctl edit h2d)";
	if (error == ENOENT && is_temporary(path) && getenv("NOTIFY_SOCKET") != NULL)
		return " (the unit has a /tmp of its own: move it, or PrivateTmp=no: systemctl "
		       "edit h2d)";
	return "";
}
