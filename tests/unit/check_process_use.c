/*
 * check_process_use: what the kernel says of this process changes as the process does; without
 * /proc nothing is known.
 */
#include "base/process_use.h"

#include "unit.h"

enum { MORE = 64 << 20, FILES = 20 };

TEST(test_unknown)
{
	struct process_use use;

	process_use_read(&use);
	ck_assert_uint_eq(use.memory, 0);
	ck_assert_uint_eq(use.descriptors, 0);
}

TEST(test_changes)
{
	struct process_use before, after;
	int open_files[FILES];
	char *p;

	process_use_open();
	process_use_read(&before);
	p = malloc(MORE);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, MORE);
	for (int i = 0; i < FILES; i++)
		open_files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	process_use_read(&after);
	ck_assert_uint_gt(before.memory, 1 << 18);
	ck_assert_uint_gt(after.memory, before.memory + MORE / 2);
	if (before.descriptors > 0)
		ck_assert_uint_eq(after.descriptors, before.descriptors + FILES);
	for (int i = 0; i < FILES; i++)
		close(open_files[i]);
	ck_assert_int_eq(p[MORE - 1], 1);
	free(p);
}
