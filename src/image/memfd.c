/*
 * memfd: creates and seals memfds for the keeper, and checks for workers that one is sealed. It
 * owns no descriptor, and never reports a size that the maker of the memfd could still change.
 */
#include "image/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8U
#endif

int memfd_new(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

int memfd_map(const char *name, size_t size, void **map)
{
	int fd = memfd_new(name), rc;

	if (fd < 0)
		return fd;
	/* Written, not only sized: full memory is an error here, and not SIGBUS at the first
	 * store. */
	rc = -posix_fallocate(fd, 0, (off_t)size);
	if (rc == 0) {
		*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (*map != MAP_FAILED)
			return fd;
		rc = -errno;
	}
	close(fd);
	return rc;
}

int memfd_write(int fd, const void *p, size_t n, off_t at)
{
	const char *from = p;

	while (n > 0) {
		ssize_t w = TEMP_FAILURE_RETRY(pwrite(fd, from, n, at));

		if (w <= 0)
			return w < 0 ? -errno : -EIO;
		from += w;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

int memfd_read(int fd, void *p, size_t n, off_t at)
{
	char *to = p;

	while (n > 0) {
		ssize_t got = TEMP_FAILURE_RETRY(pread(fd, to, n, at));

		if (got <= 0)
			return got < 0 ? -errno : -EAGAIN;
		to += got;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int memfd_seal(int fd, bool keep_writer)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char name[40];
	int ro, err;

	seals |= keep_writer ? F_SEAL_FUTURE_WRITE : F_SEAL_WRITE;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	/*
	 * Before Linux 6.7 a sealed memfd that was opened for writing cannot be mapped shared. It
	 * is opened first: seals can be neither removed nor extended.
	 */
	ro = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = ro < 0 ? -errno : 0;
	if (err == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0) {
		err = -errno;
		close(ro);
	}
	close(fd);
	return err < 0 ? err : ro;
}

off_t memfd_sealed_size(int fd, bool content)
{
	int want = F_SEAL_SHRINK | F_SEAL_GROW | (content ? F_SEAL_WRITE : 0);
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & want) != want || fstat(fd, &st) < 0)
		return -1;
	return st.st_size;
}
