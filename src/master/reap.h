/*
 * reap: how soon a child that died is started again. A pure function of the times of its deaths: the
 * first three within a minute are mended at once, further ones wait 100 ms, 200 ms … 10 s.
 */
#ifndef H2D_MASTER_REAP_H
#define H2D_MASTER_REAP_H

#include <stdbool.h>
#include <stdint.h>

enum { REAP_FREE = 3, REAP_WINDOW_MS = 60000, REAP_DELAY_MIN_MS = 100, REAP_DELAY_MAX_MS = 10000 };

/* The history of one place (a worker slot, the keeper); zero it to begin. */
struct reap {
	uint64_t died[REAP_FREE]; /* ms, the last deaths; a ring */
	unsigned deaths;          /* ever */
	unsigned delay;           /* ms, the last one answered */
};

/* A child of this place died at now (ms): milliseconds to wait before the next is started. */
unsigned reap_delay(struct reap *r, uint64_t now);

/* "killed by signal 9 (Killed)", "exited with status 1": a wait(2) status in words. */
void reap_describe(int status, char *buf, unsigned size);

/* Whether the status speaks of a bug of ours: a fault signal, or an abort. */
bool reap_is_crash(int status);

#endif
