/*
 * nfsfs_client: files and locks as the server has them, and what a machine knows of them, which may
 * have been true a while ago. See nfsfs.c; called with its mutex.
 */
#define _GNU_SOURCE
#include "nfsfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lock {
	struct lock *next;
	struct file *file;
	const struct handle *handle;
	int type;
	off_t from, to;
};

struct switches sw;
unsigned long age = 1;

static struct file *files;
static struct lock *locks;

/* --- the server ------------------------------------------------------------------------------- */

struct file *file_of(int fd)
{
	struct stat st;
	struct file *f;

	fstat(fd, &st);
	for (f = files; f != NULL; f = f->next)
		if (f->dev == st.st_dev && f->ino == st.st_ino) {
			close(fd);
			return f;
		}
	f = calloc(1, sizeof(*f));
	*f = (struct file){
		.next = files, .fd = fd, .dev = st.st_dev, .ino = st.st_ino, .change = 1
	};
	return files = f;
}

int reopen(const struct file *f, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	return open(path, (flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_CLOEXEC);
}

static bool overlaps(const struct lock *l, const struct file *f, off_t from, off_t to)
{
	return l->file == f && l->from <= to && from <= l->to;
}

int take_lock(const struct handle *h, struct file *f, int type, off_t from, off_t to)
{
	struct lock *l;

	if (type == F_WRLCK && (h->flags & O_ACCMODE) == O_RDONLY)
		return EBADF;
	for (l = locks; l != NULL; l = l->next)
		if (overlaps(l, f, from, to) && l->handle != h &&
			(type == F_WRLCK || l->type == F_WRLCK))
			return EAGAIN;
	l = malloc(sizeof(*l));
	*l = (struct lock){
		.next = locks, .file = f, .handle = h, .type = type, .from = from, .to = to
	};
	locks = l;
	return 0;
}

void drop_locks(const struct handle *h, const struct file *f, off_t from, off_t to)
{
	for (struct lock **at = &locks; *at != NULL;) {
		struct lock *l = *at;

		if (h != NULL && (l->handle != h || !overlaps(l, f, from, to))) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free(l);
	}
}

/* --- what a machine knows --------------------------------------------------------------------- */

struct node *node_of(struct node **nodes, struct file *f)
{
	struct node *n;

	for (n = *nodes; n != NULL; n = n->next)
		if (n->file == f)
			return n;
	n = calloc(1, sizeof(*n));
	n->next = *nodes;
	n->file = f;
	return *nodes = n;
}

void ask(struct node *n)
{
	fstat(n->file->fd, &n->st);
	n->age = age;
	n->change = n->file->change;
}

/* Its attributes, as the machine believes them. */
struct stat *known(struct node *n)
{
	static struct stat st;

	if (n->age != age || sw.second)
		ask(n);
	st = n->st;
	for (const struct extent *e = n->dirty; e != NULL; e = e->next)
		if (e->at + (off_t)e->n > st.st_size)
			st.st_size = e->at + (off_t)e->n;
	return &st;
}

void flush(struct node *n)
{
	int fd = n->dirty != NULL ? reopen(n->file, O_WRONLY) : -1;

	while (n->dirty != NULL) {
		struct extent *e = n->dirty;

		if (pwrite(fd, e->bytes, e->n, e->at) < 0)
			perror("nfsfs: write");
		n->dirty = e->next;
		free(e);
	}
	if (fd >= 0) {
		close(fd);
		ask(n);
	}
}

struct dentry *dentry_of(struct node *dir, const char *name)
{
	struct dentry *d;

	for (d = dir->names; d != NULL; d = d->next)
		if (strcmp(d->name, name) == 0)
			return d;
	d = calloc(1, sizeof(*d));
	d->next = dir->names;
	snprintf(d->name, sizeof(d->name), "%s", name);
	return dir->names = d;
}

void learn(struct node *dir, const char *name, struct node *n)
{
	struct dentry *d = dentry_of(dir, name);

	d->node = n;
	d->change = dir->change;
	if (n == NULL)
		return;
	n->parent = dir;
	snprintf(n->name, sizeof(n->name), "%s", name);
}

/* This machine has changed a name in it: what it knew of others stays true if nobody else has. */
void changed(struct node *dir)
{
	bool alone = dir->change == dir->file->change && dir->age == age;
	unsigned long before = dir->change;

	dir->file->change++;
	ask(dir);
	for (struct dentry *d = dir->names; d != NULL && alone; d = d->next)
		if (d->change == before)
			d->change = dir->change;
}

/* What the server has by that name; NULL with errno. */
struct node *find(struct node **nodes, struct node *dir, const char *name)
{
	int fd = openat(dir->file->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? node_of(nodes, file_of(fd)) : NULL;
}
