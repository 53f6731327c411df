/*
 * check_spelling: what is asked of directories on file systems of all kinds. What fstatfs(2) and
 * FS_IOC_GETFLAGS say is this test's (linked with --wrap).
 */

#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/vfs.h>

#include "image/beneath.h"
#include "tree_unit.h"
#include "unit.h"

static unsigned type, flags;
static int root;

int __wrap_fstatfs(int fd, struct statfs *fs);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	*fs = (struct statfs){ .f_type = type };
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	/* EBADF of a descriptor that was opened with O_PATH. */
	ck_assert_int_ge(fcntl(fd, F_GETFL), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_PATH, 0);
	ck_assert_uint_eq(request, FS_IOC_GETFLAGS);
	va_start(ap, request);
	*va_arg(ap, int *) = (int)flags;
	va_end(ap);
	return 0;
}

UNIT_SETUP(setup)
{
	tree_dir("d");
	tree_dir("d/Sub");
	tree_text("d/Sub/file", "x");
	tree_link("d", "link");
	root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root, 0);
}

UNIT_TEARDOWN(teardown)
{
	close(root);
}

static int check(const char *path, unsigned n)
{
	return spelling_check(root, path, n, 0);
}

static const struct {
	unsigned type, flags;
	bool reads; /* the directories, for nothing else says it */
} systems[] = {
	{ BTRFS_SUPER_MAGIC, 0, false },
	{ EXT4_SUPER_MAGIC, 0, false },
	{ EXT4_SUPER_MAGIC, FS_CASEFOLD_FL, true },
	{ TMPFS_MAGIC, FS_CASEFOLD_FL, true },
	{ XFS_SUPER_MAGIC, 0, false },
	{ MSDOS_SUPER_MAGIC, 0, true },
	{ 0x65735546 /* FUSE */, 0, true },
	{ 0x12345678, FS_CASEFOLD_FL, true },
};

/*
 * Names that are there under another spelling this machine cannot be asked for; names that are not
 * there at all stand for them where directories are read, for what is read lacks both.
 */
TEST_ROWS(file_systems, systems)
{
	int other = systems[_i].reads ? -ENOENT : 0, cached;

	type = systems[_i].type;
	flags = systems[_i].flags;
	ck_assert_int_eq(check("/d/Sub/file", UINT_MAX), 0);
	ck_assert_int_eq(check("/link/Sub/file", UINT_MAX), 0);
	ck_assert_int_eq(check("/d/Sub/", UINT_MAX), 0);
	ck_assert_int_eq(check("/", UINT_MAX), 0);
	ck_assert_int_eq(check("/d/Sub/FILE", UINT_MAX),
		systems[_i].type == XFS_SUPER_MAGIC ? -ENOENT : other);
	ck_assert_int_eq(check("/d/Sub/f", UINT_MAX), other);
	ck_assert_int_eq(check("/d/Sub/files", UINT_MAX), other);
	ck_assert_int_eq(check("/d/Sub/FILE", 2), 0);
	ck_assert_int_eq(check("/D/", 0), 0);
	cached = spelling_check(root, "/d/Sub/file", 3, BENEATH_CACHED);
	/* Where the kernel keeps no names that are not there, as on tmpfs, a thread must look. */
	ck_assert(cached == (systems[_i].reads ? -EAGAIN : 0) ||
		  (cached == -EAGAIN && systems[_i].type == XFS_SUPER_MAGIC));
}

/* A directory that may be entered and not read. */
TEST(not_readable)
{
	bool is_root = geteuid() == 0;
	int rc[3];

	ck_assert_int_eq(chmod(tree, 0755), 0);
	ck_assert_int_eq(chmod(tree_path("d"), is_root ? 0711 : 0111), 0);
	if (is_root)
		ck_assert_int_eq(seteuid(65534), 0);
	type = EXT4_SUPER_MAGIC;
	rc[0] = check("/d/Sub/file", UINT_MAX);
	type = BTRFS_SUPER_MAGIC;
	rc[1] = check("/d/Sub/file", UINT_MAX);
	type = MSDOS_SUPER_MAGIC;
	rc[2] = check("/d/Sub/file", UINT_MAX);
	if (is_root)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(tree_path("d"), 0755), 0);
	ck_assert_int_eq(rc[0], 0);
	ck_assert_int_eq(rc[1], 0);
	ck_assert_int_eq(rc[2], -EACCES);
}

/* … and one in which the other case is there: which of them it is cannot be told. */
TEST(both_cases)
{
	tree_text("d/Sub/FILE", "y");
	type = XFS_SUPER_MAGIC;
	ck_assert_int_eq(check("/d/Sub/file", UINT_MAX), 0);
	ck_assert_int_eq(check("/d/Sub/FILE", UINT_MAX), 0);
	ck_assert_int_eq(spelling_check(root, "/d/Sub/FILE", 3, BENEATH_CACHED), -EAGAIN);
}
