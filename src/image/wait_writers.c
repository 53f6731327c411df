/*
 * wait_writers: a few places for threads that wait for the lock of an inode. Called by the keeper's
 * writer_wait and by the workers' disk_etag, in threads; a write that never ends (its buffer is a
 * mapping of a file system that hangs) takes one place, and never all threads.
 */
#include "image/wait_writers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

enum { PLACES = 2 }; /* half the offload threads of a worker */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of places */
static struct {
	bool taken;
	uint64_t dev, ino;
} places[PLACES];

/* A free place, -1 if there is none, or if one is taken for the same file. */
static int take_place(const struct file_id *id)
{
	int found = -1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < PLACES; i++) {
		if (!places[i].taken) {
			found = i;
		} else if (places[i].dev == id->dev && places[i].ino == id->ino) {
			found = -1;
			break;
		}
	}
	if (found >= 0) {
		places[found].taken = true;
		places[found].dev = id->dev;
		places[found].ino = id->ino;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

int wait_writers(int fd, const struct file_id *id)
{
	int place = take_place(id);

	if (place < 0)
		return -EAGAIN;
	/* Finding data takes the inode's lock, which writers hold, on ext4, btrfs, f2fs and tmpfs;
	 * XFS holds readers off itself. */
	(void)lseek(fd, 0, SEEK_DATA);
	pthread_mutex_lock(&lock);
	places[place].taken = false;
	pthread_mutex_unlock(&lock);
	return 0;
}
