/*
 * sig: a signalfd under watch of the loop. The main function of each process calls it once, for
 * the signals that this process handles; no code of the server runs in a
 * signal handler, but for base/crash.c and ipc/ctl.c.
 */
#include "event/sig.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

static void on_signals(struct watch *w, uint32_t events)
{
	struct sig *s = (struct sig *)(void *)((char *)w - offsetof(struct sig, watch));
	struct signalfd_siginfo info;

	(void)events;
	/* The callback may have ended the watch. */
	while (w->active && read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->fn(s, &info);
}

int sig_init(struct sig *s, struct loop *l, const sigset_t *set,
	void (*fn)(struct sig *s, const struct signalfd_siginfo *info))
{
	sigset_t before;
	int rc;

	*s = (struct sig){ .watch.fn = on_signals, .fn = fn };
	rc = -pthread_sigmask(SIG_BLOCK, set, &before);
	if (rc != 0)
		return rc;
	s->watch.fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->watch.fd < 0) {
		rc = -errno;
		goto fail_mask;
	}
	rc = loop_watch(l, &s->watch, EPOLLIN);
	if (rc != 0)
		goto fail_fd;
	return 0;

fail_fd:
	close(s->watch.fd);
	s->watch.fd = -1;
fail_mask:
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void sig_fini(struct sig *s, struct loop *l)
{
	if (!s->watch.active)
		return;
	loop_unwatch(l, &s->watch);
	close(s->watch.fd);
	s->watch.fd = -1;
}

void sig_reset(void)
{
	sigset_t none;

	/* Fault signals keep what they have: a sanitizer's report hangs on it. */
	for (int n = 1; n < NSIG; n++) {
		if (n == SIGSEGV || n == SIGBUS || n == SIGFPE || n == SIGILL || n == SIGABRT)
			continue;
		signal(n, n == SIGPIPE || n == SIGXFSZ ? SIG_IGN : SIG_DFL);
	}
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}
