/*
 * process_use: how much memory and how many descriptors this process has, as the kernel counts.
 * Opened by a child before its sandbox closes /proc, and by the master; read by workers, the keeper
 * and the master once a second; never by who is asked for metrics, who may not look into other
 * processes.
 */
#ifndef H2D_BASE_PROCESS_USE_H
#define H2D_BASE_PROCESS_USE_H

#include <stdint.h>

struct process_use {
	uint64_t memory;      /* resident bytes; 0: not known */
	uint64_t descriptors; /* open; 0: not known, as before Linux 6.2 */
};

/* After the fork; without /proc nothing will be known. */
void process_use_open(void);

void process_use_read(struct process_use *u);

#endif
