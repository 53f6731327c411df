/*
 * store_lock: flock(2), and locks of bytes that belong to an open file (F_OFD_SETLK). Called in
 * threads by the other store_*.c; it has no state.
 */
#include "store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

enum { WAIT_MAX_MS = 3000 };

static int set_range(struct store_lock l, short type)
{
	struct flock range = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = l.at, .l_len = l.n
	};

	return fcntl(l.fd, F_OFD_SETLK, &range);
}

static int set_lock(struct store_lock l, short type)
{
	int rc;

	do {
		rc = l.n > 0 ? set_range(l, type)
			     : flock(l.fd, type == F_UNLCK ? LOCK_UN : LOCK_EX | LOCK_NB);
	} while (rc < 0 && errno == EINTR);
	/* fcntl(2) may return EACCES for EAGAIN. */
	return rc == 0 ? 0 : errno == EACCES ? -EAGAIN : -errno;
}

int store_lock_try(struct store_lock l)
{
	return set_lock(l, F_WRLCK);
}

int store_lock_wait(struct store_lock l, const struct job *job)
{
	int rc = store_lock_try(l);

	/* Polls: another program may keep the lock, and flock(2) has no deadline. */
	for (int ms = 0; rc == -EAGAIN && ms < WAIT_MAX_MS; ms++) {
		if (job != NULL && job_unwanted(job))
			return -ECANCELED;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		rc = store_lock_try(l);
	}
	if (rc == 0 && job != NULL && job_unwanted(job)) {
		store_lock_free(l);
		rc = -ECANCELED;
	}
	return rc;
}

void store_lock_free(struct store_lock l)
{
	set_lock(l, F_UNLCK);
}
