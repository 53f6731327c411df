/*
 * tree_way: resolves a path with one openat(2) and readlink(2) per component, by
 * path_resolution(7). Called by tree_watch.c; it sets no watches and keeps no descriptor.
 */
#include "keeper/tree_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image.h"

enum { WAY_LINKS = 40 }; /* as many as the kernel follows */

struct way {
	int fd; /* the directory reached */
	unsigned links;
	uint64_t sum;
	tree_way_fn *fn;
	void *ctx;
	char *rest; /* the rest of buf, still to be walked */
	char buf[2 * PATH_MAX];
};

static void way_add(struct way *w, uint64_t v)
{
	w->sum = image_mix(w->sum ^ v, 0x9e3779b97f4a7c15u) + w->sum;
}

/* Enters the directory open at fd. A readable one may be watched. */
static void way_go(struct way *w, int fd)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	way_add(w, faccessat(fd, "", R_OK | X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0);
}

/* Puts text, with a slash, before the rest; an absolute path begins at the root. -errno. */
static int prepend(struct way *w, const char *text, size_t n)
{
	if (n + 1 > (size_t)(w->rest - w->buf))
		return -ENAMETOOLONG;
	*--w->rest = '/';
	w->rest -= n;
	memcpy(w->rest, text, n);
	if (w->fd >= 0 && text[0] != '/')
		return 0;
	way_go(w, open(text[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	return w->fd < 0 ? -errno : 0;
}

/* Follows the link open at fd. */
static int way_follow(struct way *w, int fd)
{
	char target[PATH_MAX];
	ssize_t n;

	if (++w->links > WAY_LINKS)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target));
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	return prepend(w, target, (size_t)n);
}

/* The next component, ended by NUL; NULL: none. */
static const char *component(struct way *w)
{
	char *name;

	do {
		while (*w->rest == '/')
			w->rest++;
		name = w->rest;
		w->rest = strchrnul(name, '/');
		if (*w->rest == '/')
			*w->rest++ = '\0';
	} while (strcmp(name, ".") == 0);
	return name[0] != '\0' ? name : NULL;
}

/* 0, -errno if the path dangles; *stop is fn's result. */
static int way_step(struct way *w, const char *name, int *stop)
{
	struct stat st;
	int fd, rc = 0;

	*stop = w->fn(w->ctx, w->fd, name);
	if (*stop != 0)
		return 0;
	fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		rc = -errno;
	way_add(w, st.st_dev);
	way_add(w, st.st_ino);
	if (rc == 0 && S_ISDIR(st.st_mode)) {
		way_go(w, fd);
		return 0;
	}
	if (rc == 0 && S_ISLNK(st.st_mode)) {
		*stop = w->fn(w->ctx, fd, NULL);
		rc = way_follow(w, fd);
	} else if (rc == 0) {
		rc = -ENOTDIR;
	}
	close(fd);
	return rc;
}

int tree_way(const char *path, tree_way_fn *fn, void *ctx, uint64_t *sum)
{
	struct way w = { .fd = -1, .fn = fn, .ctx = ctx };
	const char *name;
	int rc, stop = 0;

	w.rest = w.buf + sizeof(w.buf) - 1;
	rc = prepend(&w, path, strlen(path));
	while (rc == 0 && stop == 0) {
		name = component(&w);
		if (name == NULL) {
			stop = fn(ctx, w.fd, NULL);
			break;
		}
		rc = way_step(&w, name, &stop);
	}
	way_add(&w, (uint64_t)-rc);
	if (w.fd >= 0)
		close(w.fd);
	*sum = w.sum;
	return stop;
}
