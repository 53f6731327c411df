/* check_sig: signals come through the loop, one callback each, and a child starts clean. */
#include "event/loop.h"

#include "loop_unit.h"

static struct sig sig;
static int heard[NSIG];

static void on_signal(struct sig *s, const struct signalfd_siginfo *info)
{
	ck_assert_ptr_eq(s, &sig);
	heard[info->ssi_signo]++;
	if (info->ssi_signo == SIGTERM)
		sig_fini(s, &loop);
}

UNIT_SETUP(setup)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	ck_assert_int_eq(sig_init(&sig, &loop, &set, on_signal), 0);
}

UNIT_TEARDOWN(teardown)
{
	sig_fini(&sig, &loop);
}

TEST(delivers)
{
	raise(SIGUSR1);
	raise(SIGHUP);
	raise(SIGHUP);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(heard[SIGUSR1], 1);
	ck_assert_int_eq(heard[SIGHUP], 1);
	raise(SIGHUP);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(heard[SIGHUP], 2);
}

/* SIGTERM (15) is read last, and ends it; what comes then stays pending. */
TEST(fini_in_callback)
{
	raise(SIGTERM);
	raise(SIGUSR1);
	ck_assert_int_eq(loop_turn(&loop, -1), 0);
	ck_assert_int_eq(heard[SIGTERM], 1);
	raise(SIGTERM);
	ck_assert_int_eq(loop_turn(&loop, 0), 0);
	ck_assert_int_eq(heard[SIGTERM], 1);
	sig_fini(&sig, &loop);
}

static void never(int n)
{
	_exit(9);
}

TEST(child_starts_clean)
{
	int status;
	pid_t pid;

	signal(SIGUSR2, never);
	pid = fork();
	if (pid == 0) {
		sigset_t mask;

		sig_reset();
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		for (int n = 1; n < 32; n++) {
			if (sigismember(&mask, n) == 1)
				_exit(1);
		}
		if (signal(SIGPIPE, SIG_IGN) != SIG_IGN)
			_exit(2);
		raise(SIGPIPE);
		raise(SIGUSR2);
		_exit(3);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2, "status %#x", status);
}
