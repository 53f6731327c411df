/* check_file_seen: files that change, that are being written, that are none, and that are gone. */
#include "base/file_seen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static char path[] = "/tmp/h2d-file-seen-XXXXXX";
static struct file_seen seen;

static void set_up(void)
{
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	close(mkstemp(path));
}

static void tear_down(void)
{
	unlink(path);
}

/* Until times tell; then only a writer makes it doubtful. */
static void settle(void)
{
	int64_t now;

	do {
		usleep(1000);
		now = file_id_clock_ns();
		file_seen_note(&seen, path);
	} while (!file_id_tells(&seen.id, now));
}

START_TEST(changes)
{
	settle();
	ck_assert(!file_seen_changed(&seen, path));
	ck_assert_int_eq(truncate(path, 1), 0);
	ck_assert(file_seen_changed(&seen, path));
	file_seen_note(&seen, path);
	ck_assert(file_seen_changed(&seen, path)); /* in the tick of its last change */
	settle();
	ck_assert(!file_seen_changed(&seen, path));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(file_seen_changed(&seen, path));
	file_seen_note(&seen, path);
	ck_assert(!file_seen_changed(&seen, path));
	file_seen_note(&seen, "");
	ck_assert(!file_seen_changed(&seen, ""));
}
END_TEST

START_TEST(written)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), other;

	ck_assert_int_eq(write(fd, "x", 1), 1);
	settle();
	ck_assert(file_seen_changed(&seen, path));
	close(fd);
	settle();
	ck_assert(!file_seen_changed(&seen, path));
	/* Who only reads it is in nobody's way, and nor are we. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	file_seen_note(&seen, path);
	ck_assert(!file_seen_changed(&seen, path));
	other = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	ck_assert_int_ge(other, 0);
	close(other);
	close(fd);
}
END_TEST

/* A reader that comes and goes would be the end of whoever writes to a FIFO. */
START_TEST(no_file)
{
	int in, out;
	char byte;

	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	out = open(path, O_WRONLY | O_CLOEXEC);
	settle();
	ck_assert(!file_seen_changed(&seen, path));
	ck_assert_int_eq(write(out, "x", 1), 1);
	ck_assert_int_eq(read(in, &byte, 1), 1);
	close(out);
	close(in);
}
END_TEST

static TCase *tests(void)
{
	TCase *tc = tcase_create("file_seen");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, changes);
	tcase_add_test(tc, written);
	tcase_add_test(tc, no_file);
	return tc;
}

UNIT_MAIN("file_seen")
