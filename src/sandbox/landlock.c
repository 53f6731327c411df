/*
 * landlock: makes the three system calls, for which the C library has no functions, and requests
 * only rights known to the kernel's version. Called by sandbox.c alone; independent of the rest of
 * h2d.
 */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights newer than the oldest headers of a build of h2d. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

enum {
	ABI_FIRST = 1,
	ABI_REFER = 2,
	ABI_TRUNCATE = 3,
	ABI_NET = 4,
	ABI_IOCTL_DEV = 5,
	ABI_SCOPE = 6,
	FIRST_RIGHTS = 13, /* bits of ABI_FIRST */
};

/* struct landlock_ruleset_attr since ABI_SCOPE; a kernel takes a shorter one, too. */
struct ruleset {
	uint64_t fs, net, scoped;
};

/* To bind and to connect over TCP; abstract unix sockets and signals to others. */
#define NET_ALL   3
#define SCOPE_ALL 3

#define FS_FILE \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
		LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | \
		LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_WRITE \
	(FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | \
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
		LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | \
		LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER)

static uint64_t known(int abi)
{
	uint64_t fs = (1ULL << FIRST_RIGHTS) - 1;

	if (abi >= ABI_REFER)
		fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= ABI_TRUNCATE)
		fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= ABI_IOCTL_DEV)
		fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return fs;
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi >= ABI_FIRST ? (int)abi : 0;
}

int landlock_new(struct landlock *l, bool network)
{
	struct ruleset r = { 0 };
	size_t size = sizeof(r.fs);

	*l = (struct landlock){ .fd = -1, .abi = landlock_abi() };
	if (l->abi == 0)
		return -ENOSYS;
	r.fs = known(l->abi);
	if (l->abi >= ABI_NET) {
		r.net = network ? 0 : NET_ALL;
		size += sizeof(r.net);
	}
	if (l->abi >= ABI_SCOPE) {
		r.scoped = SCOPE_ALL;
		size += sizeof(r.scoped);
	}
	l->fd = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
	return l->fd < 0 ? -errno : 0;
}

int landlock_allow(const struct landlock *l, int fd, unsigned rights)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (rights & LANDLOCK_READ)
		rule.allowed_access |= FS_READ;
	if (rights & LANDLOCK_WRITE)
		rule.allowed_access |= FS_WRITE;
	rule.allowed_access &= known(l->abi);
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_FILE;
	if (syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

int landlock_enter(struct landlock *l)
{
	long rc = syscall(SYS_landlock_restrict_self, l->fd, 0);
	int error = errno;

	close(l->fd);
	l->fd = -1;
	return rc < 0 ? -error : 0;
}
