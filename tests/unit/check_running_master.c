/*
 * check_running_master: the pid file names one process, then the other, as often as it can.
 */
#include "cli/signal_cmd.h"

#include <stdatomic.h>

#include "machine/pidfile.h"
#include "unit.h"

enum { LOOKS = 2000 };

static char path[] = "/tmp/h2d-check-running-XXXXXX";
static struct pidfile file;
static pid_t masters[2];
static atomic_bool over;

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	ck_assert_int_gt(pid, 0);
	return pid;
}

UNIT_SETUP(setup)
{
	char why[256];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(pidfile_open(&file, path, why, sizeof(why)), 0);
	for (int i = 0; i < 2; i++)
		masters[i] = sleeper();
	ck_assert_int_eq(pidfile_name(&file, masters[0]), 0);
}

UNIT_TEARDOWN(teardown)
{
	for (int i = 0; i < 2; i++) {
		kill(masters[i], SIGKILL);
		waitpid(masters[i], NULL, 0);
	}
	pidfile_close(&file);
}

static void *upgrade_again_and_again(void *arg)
{
	for (unsigned i = 0; !atomic_load(&over); i++)
		if (pidfile_name(&file, masters[i % 2]) < 0)
			abort();
	return arg;
}

static struct running_master looked_for(void)
{
	struct running_master m = { .pidfd = -1 };

	snprintf(m.pid_file, sizeof(m.pid_file), "%s", path);
	return m;
}

/* A master that passes its place on between two looks is no reason to say that none runs. */
TEST(upgrades)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, upgrade_again_and_again, NULL), 0);
	for (int i = 0; i < LOOKS; i++) {
		struct running_master m = looked_for();

		ck_assert(running_master_find(&m));
		ck_assert(m.pid == masters[0] || m.pid == masters[1]);
		running_master_let_go(&m);
	}
	atomic_store(&over, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

TEST(moved)
{
	struct running_master m = looked_for();

	ck_assert(running_master_find(&m));
	ck_assert(!running_master_has_moved(&m));
	ck_assert(!running_master_is_gone(&m, 0));
	ck_assert_int_eq(pidfile_name(&file, masters[1]), 0);
	ck_assert(running_master_has_moved(&m));
	kill(masters[0], SIGKILL);
	ck_assert(running_master_is_gone(&m, 10000));
	running_master_let_go(&m);
}

/* The lock is what counts, not what stands in the file; nor does a process that has gone. */
TEST(nobody)
{
	struct running_master m = looked_for();

	kill(masters[0], SIGKILL);
	waitpid(masters[0], NULL, 0);
	ck_assert(!running_master_find(&m));
	ck_assert_int_eq(m.pidfd, -1);
	pidfile_close(&file);
	ck_assert(!running_master_find(&m));
}
