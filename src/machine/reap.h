/*
 * reap: the delay before a dead process is restarted, and wait(2) statuses in words. A pure
 * function of the times of the deaths: the first three within a minute are restarted at once,
 * further ones after the delay of their kind's policy, twice as long each time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { REAP_FREE = 3, REAP_WINDOW_MS = 60000 };

/* The shortest and the longest wait, in milliseconds. */
struct reap_policy {
	unsigned first, most;
	unsigned last; /* the longest while no other of its kind is up; 0: ignored */
};

/* The history of one place (a worker slot, the keeper); zero it to begin. */
struct reap {
	uint64_t died[REAP_FREE]; /* ms, the last deaths; a ring */
	unsigned deaths;          /* so far */
	unsigned delay;           /* ms, the last result */
};

/* A process of this place died at now (ms): returns milliseconds until the next is started. */
unsigned reap_delay(struct reap *r, const struct reap_policy *policy, uint64_t now);

/* "killed by signal 9 (Killed)", "exited with status 1": a wait(2) status in words. */
void reap_describe(int status, char *buf, unsigned size);

/* True if the status shows a bug of ours: a fault signal, or an abort. */
bool reap_is_crash(int status);
