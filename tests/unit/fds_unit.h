/* fds_unit: how many descriptors this process has, for tests of what leaks none. */
#pragma once

#include <dirent.h>

#include "unit.h"

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}
