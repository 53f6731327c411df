/*
 * kernel_check: one function for each row of kernel_check.def, which tries it without lasting
 * effects. Called by master at the start, and by main for -t.
 */
#include "machine/kernel_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static int try_signalfd(void)
{
	sigset_t none;

	sigemptyset(&none);
	return closed(signalfd(-1, &none, SFD_CLOEXEC));
}

static int try_eventfd(void)
{
	return closed(eventfd(0, EFD_CLOEXEC));
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

static int try_prlimit(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) < 0 ? errno : 0;
}

static const struct {
	int (*try)(void);
	bool needed;
	const char *what, *since, *why;
} rows[] = {
#define NEED(name, what, since, purpose) { try_##name, true, what, since, purpose },
#define WANT(name, what, since, instead) { try_##name, false, what, since, instead },
#include "machine/kernel_check.def"
};

int kernel_check(conf_fault_fn *fault, conf_fault_fn *warn, void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error = rows[i].try();
		char text[256];

		if (error == 0)
			continue;
		snprintf(text, sizeof(text), "%s is missing (%s): %s; provided by %s", rows[i].what,
			strerror(error), rows[i].why, rows[i].since);
		(rows[i].needed ? fault : warn)(ctx, &(struct conf_pos){ 0 }, text);
		rc = rows[i].needed ? -1 : rc;
	}
	return rc;
}
