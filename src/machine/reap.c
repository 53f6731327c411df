/*
 * reap: computes when a dead process is restarted, and describes wait(2) statuses. Supervise calls
 * it for each death. Reap uses no process, no clock and no loop.
 */
#include "machine/reap.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

unsigned reap_delay(struct reap *r, const struct reap_policy *policy, uint64_t now)
{
	uint64_t *oldest = &r->died[r->deaths % REAP_FREE];
	bool often = r->deaths >= REAP_FREE && now - *oldest < REAP_WINDOW_MS;

	*oldest = now;
	r->deaths++;
	if (!often)
		r->delay = 0;
	else if (r->delay == 0)
		r->delay = policy->first;
	else if (r->delay < policy->most / 2)
		r->delay *= 2;
	else
		r->delay = policy->most;
	return r->delay;
}

void reap_describe(int status, char *buf, unsigned size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "killed by signal %d (%s)%s", WTERMSIG(status),
			strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
	else
		snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
}

bool reap_is_crash(int status)
{
	if (!WIFSIGNALED(status))
		return false;
	switch (WTERMSIG(status)) {
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGSEGV:
	case SIGSYS:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}
