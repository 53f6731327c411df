/*
 * wait_writers: a few seats for threads that wait for the lock of an inode. Called by the keeper's
 * writer_wait and by the workers' disk_etag, in threads; a write that never ends (its buffer is a
 * mapping of a file system that hangs) takes one seat, and never all threads.
 */
#include "image/wait_writers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { SEATS = 2 }; /* half the offload threads of a worker */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of seats */
static struct {
	bool used;
	uint64_t dev, ino;
} seats[SEATS];

/* A free seat, -1 if there is none, or if one is used for the same file. */
static int take_seat(const struct file_id *id)
{
	int found = -1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < SEATS; i++) {
		if (!seats[i].used) {
			found = i;
		} else if (seats[i].dev == id->dev && seats[i].ino == id->ino) {
			found = -1;
			break;
		}
	}
	if (found >= 0) {
		seats[found].used = true;
		seats[found].dev = id->dev;
		seats[found].ino = id->ino;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

int wait_writers(int fd, const struct file_id *id)
{
	int seat = take_seat(id);

	if (seat < 0)
		return -EAGAIN;
	/* Finding data takes the inode's lock, which writers hold, on ext4, btrfs, f2fs and tmpfs;
	 * XFS holds readers off itself. */
	(void)lseek(fd, 0, SEEK_DATA);
	pthread_mutex_lock(&lock);
	seats[seat].used = false;
	pthread_mutex_unlock(&lock);
	return 0;
}
