/* beneath: see beneath.h. */
#include "cache/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A rename above the path makes RESOLVE_BENEATH give up with EAGAIN: that passes. */
enum { BENEATH_TRIES = 16 };

int beneath_open(int root, const char *path, unsigned flags)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int tries = flags & BENEATH_CACHED ? 1 : BENEATH_TRIES;
	long fd;

	if (flags & BENEATH_PATH)
		how.flags = O_PATH | O_CLOEXEC;
	if (flags & BENEATH_DIR)
		how.flags |= O_DIRECTORY;
	if (flags & BENEATH_NO_LINK)
		how.flags |= O_NOFOLLOW;
	if (flags & (BENEATH_DIR | BENEATH_NO_LINKS))
		how.resolve |= RESOLVE_NO_SYMLINKS;
	if (flags & BENEATH_SAME_MOUNT)
		how.resolve |= RESOLVE_NO_XDEV;
	if (flags & BENEATH_CACHED)
		how.resolve |= RESOLVE_CACHED;
	while (*path == '/')
		path++;
	if (*path == '\0')
		path = ".";
	do {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EINTR)
			tries--;
	} while (errno == EINTR || (errno == EAGAIN && tries > 0));
	return -errno;
}

enum beneath_kind beneath_kind(int fd)
{
	/* File systems that read from this machine's own devices, and answer RWF_NOWAIT truly. */
	static const unsigned local[] = {
		EXT4_SUPER_MAGIC,
		XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC,
		OVERLAYFS_SUPER_MAGIC,
		SQUASHFS_MAGIC,
		EROFS_SUPER_MAGIC_V1,
		F2FS_SUPER_MAGIC,
		ISOFS_SUPER_MAGIC,
		MSDOS_SUPER_MAGIC,
		EXFAT_SUPER_MAGIC,
	};
	struct statfs fs;
	int rc;

	do {
		rc = fstatfs(fd, &fs);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return BENEATH_REMOTE;
	if ((unsigned)fs.f_type == TMPFS_MAGIC || (unsigned)fs.f_type == RAMFS_MAGIC)
		return BENEATH_MEMORY;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if ((unsigned)fs.f_type == local[i])
			return BENEATH_LOCAL;
	return BENEATH_REMOTE;
}
