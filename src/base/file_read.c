/*
 * file_read: open(2), read(2) until the end, close(2); see file_read.h. It keeps no state.
 */
#include "base/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t file_read(const char *path, void *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = 0;
	size_t n = 0;

	if (fd < 0)
		return -errno;
	while (n < size && (got = read(fd, (char *)buf + n, size - n)) > 0)
		n += (size_t)got;
	got = got < 0 ? -errno : (ssize_t)n;
	close(fd);
	return got;
}
