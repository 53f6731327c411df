/*
 * escape: finds the link, and remembers the logged ones by hashes. Workers share these alone: a
 * corrupt table only spoils lines of the log.
 */
#include "files/escape.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/name_map.h"
#include "image/beneath.h"

struct escapes {
	uint64_t named[ESCAPES_MAX]; /* 0: free; filled from the first on */
};

struct escapes *escapes_new(void)
{
	void *p = mmap(NULL, sizeof(struct escapes), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED ? p : NULL;
}

void escapes_free(struct escapes **ep)
{
	if (*ep != NULL)
		munmap(*ep, sizeof(**ep));
	*ep = NULL;
}

/* True if path leads out of root. */
static bool leaves(int root, const char *path)
{
	int fd = beneath_open(root, path, BENEATH_PATH);

	if (fd >= 0)
		close(fd);
	return fd == -EXDEV;
}

/* Describes the link at path, whose directory is below root. */
static char *describe_link(int root, const char *path)
{
	int fd = beneath_open(root, path, BENEATH_PATH | BENEATH_NO_LINK);
	char to[PATH_MAX], *text;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = readlinkat(fd, "", to, sizeof(to));
	close(fd);
	if (n < 0 || asprintf(&text, "%s to \"%.*s\"", path, (int)n, to) < 0)
		return NULL;
	return text;
}

char *escape_find(int root, const char *path)
{
	size_t n = strlen(path);
	char way[PATH_MAX];

	if (n >= sizeof(way))
		return NULL;
	memcpy(way, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		way[i] = '\0';
		if (leaves(root, way))
			return describe_link(root, way);
		way[i] = path[i];
	}
	return NULL;
}

/* The slot of h, which is not 0, if it is new; ESCAPES_MAX: it is not, or all are full. */
static unsigned take_place(struct escapes *e, uint64_t h)
{
	for (unsigned i = 0; i < ESCAPES_MAX; i++) {
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(
			    &e->named[i], &there, h, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return i;
		if (there == h)
			break;
	}
	return ESCAPES_MAX;
}

void escapes_say(struct escapes *e, const char *root, const char *escape)
{
	uint64_t h = fnv_add(FNV_BEGIN, root, strlen(root));
	unsigned place = ESCAPES_MAX;

	if (e != NULL)
		place = take_place(e, fnv_add(h, escape, strlen(escape)) | 1);
	if (place < ESCAPES_MAX)
		log_warn("root %s: not following symbolic link %s out of root (see follow-links)%s",
			root, escape,
			place == ESCAPES_MAX - 1 ? "; not reporting further ones until a reload"
						 : "");
}
