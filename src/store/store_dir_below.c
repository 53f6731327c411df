/*
 * store_dir_below: finds and makes directories below that of uploads, segment by segment, through
 * no link. Called in threads.
 */
#include "store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/beneath.h"

/* Finds the directory folder: its descriptor, or -errno. */
static int find_folder(int fd, const char *folder)
{
	int rc = beneath_open(fd, folder, BENEATH_DIR | BENEATH_SAME_MOUNT);

	return rc == -ENOTDIR || rc == -ELOOP || rc == -EXDEV ? -EISDIR : rc;
}

/* Rules are found by the bytes of a path. 0; -EISDIR: the disk spells it otherwise; -errno. */
static int check_spelling(const struct store_dir *d, const char *folder)
{
	int rc = spelling_check(d->fd, folder, UINT_MAX, 0);

	return rc == -ENOENT ? -EISDIR : rc;
}

int store_dir_find(const struct store_dir *d, const char *folder)
{
	int fd, rc;

	if (folder[0] == '\0')
		return d->fd;
	fd = find_folder(d->fd, folder);
	rc = fd >= 0 ? check_spelling(d, folder) : 0;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

void store_dir_enter(struct store_dir *d, const char *folder)
{
	store_dir_leave(d);
	d->folder = folder;
	d->to = store_dir_find(d, folder);
	if (d->to < 0)
		d->to = -1;
}

/* Makes the directory of that name in fd, if it is missing, and opens it. *made counts. */
static int make_one(int fd, const char *name, unsigned *made)
{
	int rc;

	if (mkdirat(fd, name, STORE_FOLDER_MODE) < 0)
		return errno == EEXIST ? find_folder(fd, name) : -errno;
	++*made;
	rc = store_dir_sync(fd);
	return rc == 0 ? find_folder(fd, name) : rc;
}

/* Makes one segment after the other. The descriptor of the last, or -errno. */
static int make_all(int top, const char *folder, unsigned *made)
{
	int fd = top;

	while (fd >= 0 && *folder != '\0') {
		size_t n = strcspn(folder, "/");
		char name[NAME_MAX + 1];
		int next;

		snprintf(name, sizeof(name), "%.*s", (int)n, folder);
		next = make_one(fd, name, made);
		if (fd != top)
			close(fd);
		fd = next;
		folder += n + (folder[n] == '/');
	}
	return fd;
}

int store_dir_make(struct store_dir *d, const char *folder, unsigned *made)
{
	int rc = 0;

	store_dir_leave(d);
	*made = 0;
	d->to = make_all(d->fd, folder, made);
	if (d->to < 0) {
		rc = d->to;
		d->to = -1;
	} else if (d->to != d->fd) {
		rc = check_spelling(d, folder);
	}
	return rc;
}

void store_dir_unmake(const struct store_dir *d, const char *folder, unsigned made)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", folder);
	for (; made > 0; made--) {
		char *slash = strrchr(path, '/');

		unlinkat(d->fd, path, AT_REMOVEDIR);
		if (slash != NULL)
			*slash = '\0';
	}
}
