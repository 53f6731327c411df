/*
 * master_signal: the meaning of a signal in each of the master's phases: a wish (master_wish.def),
 * which is granted now or later. The master calls it with every signal except SIGCHLD.
 */
#pragma once

#include <signal.h>

struct master;

/* Real-time signals: take the machine out of its load balancers, and put it back. */
#define MASTER_SIGNAL_DRAIN   (SIGRTMIN + 1)
#define MASTER_SIGNAL_UNDRAIN (SIGRTMIN + 2)

/* For the log; a constant string. */
const char *master_signal_name(int signo);

/* The signals that the master uses, with SIGCHLD. */
void master_signal_set(sigset_t *set);

void master_signal_init(struct master *m);

void master_signal(struct master *m, int signo);
