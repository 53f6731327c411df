/*
 * notify: reports the master's state to the service manager (sd_notify(3)). Notify never fails:
 * h2d serves even if the manager does not listen.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Each with a STATUS line; text is cut at 500 bytes and must have no newlines. */
void notify_ready(const char *text);
void notify_reloading(const char *text); /* with MONOTONIC_USEC */
/* The master's loop turns, and no process has failed for good. */
void notify_watchdog(void);
/* With more time to stop than the service manager's default. */
void notify_stopping(const char *text);

/* The stopping master's loop still turns: requests more time again. */
void notify_leaving(void);

/* Makes that process the service's main one; it must be in its control group. */
void notify_main_pid(pid_t pid);

/* Any message, with n descriptors, 253 at most. */
void notify_fds(const char *msg, const int *fds, unsigned n);

/* While held no message is sent: another process reports for the service. */
void notify_hold(bool hold);
