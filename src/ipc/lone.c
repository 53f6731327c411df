/*
 * lone: one signal handler, in the main thread, which is the loop's: all others block its signal.
 * It counts looks and not seconds, as master/watchdog.c does: a process that is stopped makes none.
 */
#include "ipc/lone.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"

enum { LOOK_S = 1 };

static unsigned limit;  /* looks */
static unsigned silent; /* looks at which the loop had not turned since the one before */
static volatile sig_atomic_t turned;

/* A lock that the line needs may be held for good: the next signal ends the process then. */
static void end_process(void)
{
	signal(SIGALRM, SIG_DFL);
	alarm(LOOK_S);
	log_error("the master is gone, and this process has stood still for %u s: it ends", limit);
	raise(SIGABRT);
}

static void look_at_loop(int signo)
{
	(void)signo;
	silent = turned ? 0 : silent + 1;
	turned = 0;
	if (silent >= limit)
		end_process();
	else
		alarm(LOOK_S);
}

int lone_watch(unsigned seconds)
{
	/* Nested: the handler waits for a lock that only the code below it would free. */
	struct sigaction sa = { .sa_handler = look_at_loop,
		.sa_flags = SA_RESTART | (int)SA_NODEFER };

	limit = seconds;
	if (limit == 0)
		return 0;
	sigaction(SIGALRM, &sa, NULL);
	return prctl(PR_SET_PDEATHSIG, SIGALRM, 0, 0, 0) < 0 ? -errno : 0;
}

void lone_turns(void)
{
	turned = 1;
}
