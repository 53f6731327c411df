/* tree_unit: a temporary tree of files for each test of a program that includes this. */
#pragma once

#include <ftw.h>

#include "unit.h"

static char tree[256]; /* the root of this test's tree */

UNIT_SETUP(tree_init)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(tree, sizeof(tree), "%s/h2d-unit-XXXXXX", tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(tree));
}

static inline int tree_remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

UNIT_TEARDOWN(tree_fini)
{
	nftw(tree, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline char *tree_path(const char *name)
{
	static char paths[8][8192];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", tree, name);
	return path;
}

static inline void tree_dir(const char *name)
{
	ck_assert_int_eq(mkdir(tree_path(name), 0755), 0);
}

static inline void tree_link(const char *target, const char *name)
{
	ck_assert_int_eq(symlink(target, tree_path(name)), 0);
}

/* In place: the inode stays if the name exists. */
static inline void tree_write(const char *name, const void *data, size_t n)
{
	int fd = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, n), (ssize_t)n);
	close(fd);
}

static inline void tree_text(const char *name, const char *text)
{
	tree_write(name, text, strlen(text));
}

/* Long ago: its time stamps are settled but for ctime. */
static inline void tree_date(const char *name, time_t t)
{
	struct timespec times[2] = { { .tv_sec = t }, { .tv_sec = t } };

	ck_assert_int_eq(utimensat(AT_FDCWD, tree_path(name), times, 0), 0);
}

/* n bytes that depend on seed. */
static inline char *tree_bytes(size_t n, unsigned seed)
{
	char *p = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)((i * 2654435761u + seed) >> 7);
	return p;
}
