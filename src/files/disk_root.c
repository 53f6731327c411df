/*
 * disk_root: opens the directory that a root's path names and says which one it is. Called in
 * offload threads; it never closes a root that an open file still uses.
 */
#include "files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void release_root(struct ref *ref)
{
	struct disk_root *r = (struct disk_root *)ref;

	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

/* Is it the path's own fault, or the machine's? */
static bool names_nothing(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

struct disk_root *disk_root_look(const char *path, const struct disk_root *now)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st = { 0 };
	struct disk_root *r;

	if (fd < 0 && now != NULL && !names_nothing(errno))
		return NULL;
	if (fd >= 0 && fstat(fd, &st) < 0) {
		close(fd);
		return NULL;
	}
	if (now != NULL && st.st_dev == now->dev && st.st_ino == now->ino) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	r = malloc(sizeof(*r));
	if (r == NULL) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	ref_init(&r->ref, release_root);
	r->fd = fd;
	r->kind = fd >= 0 ? beneath_kind(fd) : BENEATH_MEMORY;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	return r;
}
