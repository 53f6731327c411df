/*
 * sig: signals as events of the loop, by signalfd(2). The signals given to sig_init() are blocked
 * in the process and handed to one callback; a forked child calls sig_reset() before it calls
 * sig_init() for its own. A process never has two of these.
 */
#ifndef H2D_EVENT_SIG_H
#define H2D_EVENT_SIG_H

#include <signal.h>
#include <sys/signalfd.h>

#include "event/loop.h"

struct sig {
	struct watch watch;
	void (*fn)(struct sig *s, const struct signalfd_siginfo *info);
};

/* Blocks the signals of set and delivers them to fn. 0, or -errno. */
int sig_init(struct sig *s, struct loop *l, const sigset_t *set,
	void (*fn)(struct sig *s, const struct signalfd_siginfo *info));
void sig_fini(struct sig *s, struct loop *l);

/* Unblocks everything and restores default dispositions (SIGPIPE and SIGXFSZ stay ignored). */
void sig_reset(void);

#endif
