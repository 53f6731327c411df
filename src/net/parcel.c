/*
 * parcel: writes and reads parts, one behind the other, each with its kind and length in front.
 * Tls_parcel and tls_client_ca_load call it; it keeps nothing.
 */
#include "net/parcel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARCEL_MAX = 256 << 20 };

struct head {
	uint32_t part, n;
};

int parcel_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd >= 0 ? fd : -errno;
}

/* 0 or -errno. */
static int write_all(int fd, const void *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0)
			return -errno;
		p = (const char *)p + done;
		n -= (size_t)done;
	}
	return 0;
}

int parcel_put(int fd, uint32_t part, const void *p, size_t n)
{
	const struct head head = { part, (uint32_t)n };
	int rc = write_all(fd, &head, sizeof(head));

	return rc == 0 ? write_all(fd, p, n) : rc;
}

int parcel_end(int fd, int rc)
{
	struct stat st;

	if (rc == 0 && (fstat(fd, &st) < 0 || fcntl(fd, F_ADD_SEALS,
						      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE |
							      F_SEAL_SEAL) < 0))
		rc = -errno;
	else if (rc == 0 && st.st_size > PARCEL_MAX)
		rc = -EFBIG;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* At an offset of its own: all workers have the same open file. */
static bool read_all(int fd, unsigned char *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = pread(fd, to + at, n - at, (off_t)at);

		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

static bool unpack(const unsigned char *p, size_t n, parcel_take *take, void *ctx)
{
	while (n > 0) {
		struct head head = { 0 };

		if (n < sizeof(head))
			return false;
		memcpy(&head, p, sizeof(head));
		p += sizeof(head);
		n -= sizeof(head);
		if (head.n > n || !take(ctx, head.part, p, head.n))
			return false;
		p += head.n;
		n -= head.n;
	}
	return true;
}

bool parcel_open(int fd, parcel_take *take, void *ctx)
{
	unsigned char *all = NULL;
	struct stat st;
	bool ok = fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= PARCEL_MAX &&
		  (all = malloc((size_t)st.st_size)) != NULL;

	ok = ok && read_all(fd, all, (size_t)st.st_size) &&
	     unpack(all, (size_t)st.st_size, take, ctx);
	if (all != NULL)
		explicit_bzero(all, (size_t)st.st_size);
	free(all);
	return ok;
}
