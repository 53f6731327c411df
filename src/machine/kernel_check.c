/*
 * kernel_check: a row for each feature, and its function, which tries it without lasting effects.
 */
#include "machine/kernel_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/conf_fault.h"

enum { DESCRIPTORS_MIN = 32 };

/* 0 or an errno, of a call that returns a descriptor. */
static int closed(int fd)
{
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
	int error = closed((int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how)));

	/* The directory may be missing, or out of reach: the kernel has the call. */
	return error == ENOSYS || error == EPERM || error == EINVAL ? error : 0;
}

static int try_close_range(void)
{
	return close_range(~0U, ~0U, 0) < 0 ? errno : 0;
}

static int try_proc(void)
{
	return access("/proc/self/fd", F_OK) < 0 ? errno : 0;
}

/* The number that the master may have after it raises its limit. */
static int try_descriptors(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max < DESCRIPTORS_MIN ? EMFILE : 0;
}

static int try_memfd(void)
{
	int fd = memfd_create("h2d-try", MFD_CLOEXEC | MFD_ALLOW_SEALING), error = 0;

	if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0)
		error = errno;
	return fd >= 0 && error != 0 ? close(fd), error : closed(fd);
}

static const struct {
	int (*try)(void);
	const char *what, *since, *why;
} rows[] = {
	{ try_openat2, "openat2(2)", "Linux 5.6", "h2d opens files below their root with it" },
	{ try_close_range, "close_range(2)", "Linux 5.9",
		"h2d closes inherited descriptors with it" },
	{ try_memfd, "memfd_create(2) with F_SEAL_FUTURE_WRITE", "Linux 5.1",
		"h2d shares its cache with it" },
	{ try_proc, "/proc", "mount -t proc proc /proc", "h2d reopens files through it" },
	{ try_descriptors, "room for 32 descriptors",
		"ulimit -n, LimitNOFILE=", "each socket, file and process needs one" },
};

int kernel_check(void)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error = rows[i].try();
		char text[256];

		if (error == 0)
			continue;
		snprintf(text, sizeof(text), "%s is missing (%s): %s; provided by %s", rows[i].what,
			strerror(error), rows[i].why, rows[i].since);
		conf_fault_print(NULL, &(struct conf_pos){ 0 }, text);
		rc = -1;
	}
	return rc;
}
