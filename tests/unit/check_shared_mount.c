/*
 * check_shared_mount: which promises mounts lose, by their types and options: lists of mounts that
 * say of this folder's device what they like.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "machine/shared_mount.h"

/* What is said of a mount: letters of what is lost, in order. */
static const struct {
	const char *line, *lost;
} mounts[] = {
	{ "rw,relatime - ext4 /dev/vda rw", "" },
	{ "rw,noatime shared:1 - nfs4 server:/export rw,vers=4.2,hard,local_lock=none", "" },
	{ "rw - nfs4 server:/export rw,vers=4.2,nocto,local_lock=none", "L" },
	{ "rw - nfs4 server:/export rw,vers=4.2,local_lock=flock", "A" },
	{ "rw - nfs4 server:/export rw,vers=4.2,local_lock=posix", "Q" },
	{ "rw - nfs server:/export rw,vers=3,nolock,local_lock=all", "DAA" },
	{ "rw - nfs server:/export rw,vers=3,local_lock=none", "D" },
	{ "rw - ceph 10.0.0.1:6789:/ rw,name=web", "" },
	{ "rw - cifs //server/share rw,actimeo=1", "L" },
	{ "rw - smb3 //server/share rw,nobrl", "LA" },
	{ "rw - fuse.glusterfs server:/volume rw,allow_other", "L" },
	{ "rw - fuse x rw", "L" },
	{ "rw - fuseblk /dev/sda1 rw", "" },
	{ "rw - lustre mgs@tcp:/fs rw,flock", "" },
	{ "rw,noatime - lustre mgs@tcp:/fs rw,localflock", "A" },
	{ "rw,localflocks - gfs2 /dev/x rw", "A" },
	{ "rw - gfs2 /dev/x rw", "" },
	{ "rw - virtiofs share rw", "LA" },
	{ "rw - 9p share rw", "LA" },
	{ "rw - afs cell rw", "Q" },
};

static char folder[] = "/tmp/check_shared_mount.XXXXXX", list[64], lost[16];

static void on_lost(void *ctx, const char *type, const char *what)
{
	size_t n = strlen(lost);

	ck_assert_ptr_eq(ctx, lost);
	ck_assert_uint_gt(strlen(type), 0);
	ck_assert_uint_lt(n, sizeof(lost) - 1);
	lost[n] = strstr(what, "download") != NULL             ? 'D'
		  : strstr(what, "locks of bytes") != NULL     ? 'Q'
		  : strstr(what, "each machine's own") != NULL ? 'A'
							       : 'L';
}

static void put_list(const char *line)
{
	FILE *f = fopen(list, "w");
	struct stat st;

	ck_assert_int_eq(stat(folder, &st), 0);
	fprintf(f, "20 1 0:0 / /other rw - nfs other:/ rw,nolock\n");
	fprintf(f, "36 35 %u:%u /root /mnt %s\n", major(st.st_dev), minor(st.st_dev), line);
	fclose(f);
}

START_TEST(test_mounts)
{
	memset(lost, 0, sizeof(lost));
	put_list(mounts[_i].line);
	shared_mount_lost(list, folder, on_lost, lost);
	ck_assert_str_eq(lost, mounts[_i].lost);
}
END_TEST

/* Nothing is said of what is not known, and nothing read beyond a line. */
START_TEST(test_unknown)
{
	memset(lost, 0, sizeof(lost));
	put_list("rw");
	shared_mount_lost(list, folder, on_lost, lost);
	shared_mount_lost(list, "/none/at/all", on_lost, lost);
	shared_mount_lost("/none/at/all", folder, on_lost, lost);
	ck_assert_str_eq(lost, "");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("shared_mount");
	TCase *tc = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(list, sizeof(list), "%s/mounts", folder);
	tcase_add_loop_test(tc, test_mounts, 0, (int)(sizeof(mounts) / sizeof(mounts[0])));
	tcase_add_test(tc, test_unknown);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	unlink(list);
	rmdir(folder);
	return failed == 0 ? 0 : 1;
}
