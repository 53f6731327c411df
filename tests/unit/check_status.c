/* check_status: the pid file with its lock, and the reload status beside it. */
#include "master/status.h"

#include "machine/pidfile.h"
#include "unit.h"

static char dir[64], pid_file[128], status_file[160];

UNIT_SETUP(setup)
{
	strcpy(dir, "h2d-check-status.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(pid_file, sizeof(pid_file), "%s/h2d.pid", dir);
	snprintf(status_file, sizeof(status_file), "%s.status", pid_file);
}

UNIT_TEARDOWN(teardown)
{
	char other[192];

	unlink(pid_file);
	unlink(status_file);
	snprintf(other, sizeof(other), "%s.new", status_file);
	unlink(other);
	snprintf(other, sizeof(other), "%s/precious", dir);
	unlink(other);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing is left behind */
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* --- status ----------------------------------------------------------------------------------- */

TEST_EACH(round_trip, 2)
{
	struct status s = { .request = 7, .running = 8, .generation = 5, .ok = _i != 0 }, back;

	status_add(&s, "/etc/h2d/h2d.conf:12: unknown key");
	status_add(&s, "two\nlines");
	status_add(&s, "100 % of it");
	ck_assert_str_eq(s.text, "/etc/h2d/h2d.conf:12: unknown key\ntwo lines\n100 % of it");
	ck_assert_int_eq(status_write(&s, pid_file), 0);
	ck_assert_int_eq(status_write(&s, pid_file), 0);
	ck_assert_int_eq(status_read(&back, pid_file), 0);
	ck_assert_uint_eq(back.request, 7);
	ck_assert_uint_eq(back.running, 8);
	ck_assert_uint_eq(back.generation, 5);
	ck_assert(back.ok == s.ok);
	ck_assert_str_eq(back.text, s.text);
	status_remove(pid_file);
	ck_assert_int_eq(status_read(&back, pid_file), -ENOENT);
}

/* More generations that are gone than there is room for. */
TEST(gone)
{
	struct status s = { .request = 7, .replaced = 4 }, back;

	for (uint32_t i = 0; i < STATUS_GONE; i++)
		s.gone[i] = (struct status_gone){ 100 - i, i, UINT32_MAX, 2 };
	ck_assert_int_eq(status_write(&s, pid_file), 0);
	ck_assert_int_eq(status_read(&back, pid_file), 0);
	ck_assert_uint_eq(back.replaced, 4);
	ck_assert_mem_eq(s.gone, back.gone, sizeof(s.gone));
}

/* The line is there only while it says something. */
TEST_EACH(drained, 2)
{
	struct status s = { .request = 7, .drained = _i != 0 }, back;
	char text[1024] = "";
	FILE *f;

	ck_assert_int_eq(status_write(&s, pid_file), 0);
	ck_assert_int_eq(status_read(&back, pid_file), 0);
	ck_assert_int_eq(back.drained, _i);
	f = fopen(status_file, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f), 0);
	fclose(f);
	ck_assert_int_eq(strstr(text, "drained") != NULL, _i);
	put(status_file, "request 1\ndrained 2\n");
	ck_assert_int_eq(status_read(&back, pid_file), -EPROTO);
}

TEST(long_text)
{
	struct status s = { 0 }, back;
	char line[2000];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 10; i++)
		status_add(&s, line);
	status_add(&s, "short");
	ck_assert_uint_lt(strlen(s.text), STATUS_TEXT);
	ck_assert_int_eq(status_write(&s, pid_file), 0);
	ck_assert_int_eq(status_read(&back, pid_file), 0);
	ck_assert_str_eq(back.text, s.text);
}

TEST(links_are_not_followed)
{
	struct status s = { 0 };
	char precious[128], name[192], buf[16] = "";
	struct stat st;
	FILE *f;

	snprintf(precious, sizeof(precious), "%s/precious", dir);
	put(precious, "gold");
	ck_assert_int_eq(symlink("precious", status_file), 0);
	snprintf(name, sizeof(name), "%s.new", status_file);
	ck_assert_int_eq(symlink("precious", name), 0);
	ck_assert_int_eq(status_write(&s, pid_file), 0);
	ck_assert_int_eq(lstat(status_file, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	f = fopen(precious, "r");
	ck_assert_ptr_nonnull(fgets(buf, sizeof(buf), f));
	fclose(f);
	ck_assert_str_eq(buf, "gold");
}

static const char *const strange[] = {
	"",
	"\n\n?",
	"request\n",
	"request -1\n",
	"request 99999999999\n",
	"result maybe\n",
	"color red\n",
	"request 1",
	"request 0x10\n",
	"generation \n",
	"running 1 \n",
};

TEST_ROWS(strange_files, strange)
{
	struct status s;

	put(status_file, strange[_i]);
	ck_assert_msg(status_read(&s, pid_file) == -EPROTO, "accepted: \"%s\"", strange[_i]);
}

/* --- pid file --------------------------------------------------------------------------------- */

static int pipe_fds[2];

/* A process that holds the pid file until it is killed. */
static pid_t holder(void)
{
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		struct pidfile p;
		char err[256];

		if (pidfile_open(&p, pid_file, err, sizeof(err)) == 0 &&
			write(pipe_fds[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(pipe_fds[0], &byte, 1), 1);
	return pid;
}

TEST(lock)
{
	struct pidfile p;
	char err[256];
	pid_t pid;

	ck_assert_int_eq(pidfile_holder(pid_file), 0);
	pid = holder();
	ck_assert_int_eq(pidfile_holder(pid_file), pid);
	ck_assert_int_eq(pidfile_open(&p, pid_file, err, sizeof(err)), -1);
	ck_assert_ptr_nonnull(strstr(err, pid_file));
	ck_assert_ptr_null(p.path);
	ck_assert_int_eq(pidfile_holder(pid_file), pid);

	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(access(pid_file, F_OK), 0);
	ck_assert_int_eq(pidfile_holder(pid_file), 0); /* left behind, and nobody's */
	ck_assert_int_eq(pidfile_open(&p, pid_file, err, sizeof(err)), 0);
	ck_assert_int_eq(pidfile_holder(pid_file), getpid());
	pidfile_close(&p);
	ck_assert_int_eq(access(pid_file, F_OK), -1);
	pidfile_close(&p);
}

TEST(another_file_by_that_name_stays)
{
	struct pidfile p;
	char err[256];

	ck_assert_int_eq(pidfile_open(&p, pid_file, err, sizeof(err)), 0);
	ck_assert_int_eq(unlink(pid_file), 0);
	put(pid_file, "precious");
	pidfile_close(&p);
	ck_assert_int_eq(access(pid_file, F_OK), 0);
}

TEST(pid_file_is_no_link)
{
	struct pidfile p;
	char err[256];

	ck_assert_int_eq(symlink("precious", pid_file), 0);
	ck_assert_int_eq(pidfile_open(&p, pid_file, err, sizeof(err)), -1);
	ck_assert_int_eq(pidfile_open(&p, "/nonexistent/pid", err, sizeof(err)), -1);
	ck_assert_ptr_nonnull(strstr(err, "No such file"));
}
