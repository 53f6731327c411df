/*
 * notify: tells the service manager how the master is (the protocol of sd_notify(3), one datagram
 * per message to $NOTIFY_SOCKET). Without that variable nothing is sent. Notify never fails: a
 * manager that does not listen is no reason not to serve.
 */
#ifndef H2D_MACHINE_NOTIFY_H
#define H2D_MACHINE_NOTIFY_H

#include <stdbool.h>
#include <sys/types.h>

/* Each with a STATUS line; text is cut at 500 bytes and must not hold newlines. */
void notify_ready(const char *text);
void notify_reloading(const char *text); /* with MONOTONIC_USEC */
/* The master turns, and no process is beyond repair. */
void notify_watchdog(void);
/* With more time to stop than the service manager would give by itself. */
void notify_stopping(const char *text);

/* The master that stops still turns: it is given more time once again. */
void notify_leaving(void);

/* From now on that process is the service, which must be one of its control group. */
void notify_main_pid(pid_t pid);

/* Any message, with n descriptors, 253 at most. */
void notify_fds(const char *msg, const int *fds, unsigned n);

/* While it is held nothing is sent: another process speaks for the service. */
void notify_hold(bool hold);

#endif
