/*
 * master_signal: what a signal to the master means in each of its phases: a wish (master_wish.def),
 * which is granted now or later. The master calls it with every signal but SIGCHLD.
 */
#ifndef H2D_MASTER_MASTER_SIGNAL_H
#define H2D_MASTER_MASTER_SIGNAL_H

#include <signal.h>

struct master;

/* Real-time signals: the machine is taken out of its load balancers, and put back. */
#define MASTER_SIGNAL_DRAIN   (SIGRTMIN + 1)
#define MASTER_SIGNAL_UNDRAIN (SIGRTMIN + 2)

/* For the log; a constant string. */
const char *master_signal_name(int signo);

/* The signals that mean something to the master, SIGCHLD among them. */
void master_signal_set(sigset_t *set);

void master_signal_init(struct master *m);

void master_signal(struct master *m, int signo);

#endif
