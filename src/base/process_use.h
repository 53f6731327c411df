/*
 * process_use: memory and number of descriptors of this process, as counted by the kernel. Opened
 * by a child before its sandbox closes /proc, and by the master; read by workers, the keeper and
 * the master once a second; never by a worker asked for metrics: it may not look into other
 * processes.
 */
#pragma once

#include <stdint.h>

struct process_use {
	uint64_t memory;      /* resident bytes; 0: not known */
	uint64_t descriptors; /* open; 0: not known, as before Linux 6.2 */
};

/* After the fork; without /proc both are unknown. */
void process_use_open(void);

void process_use_read(struct process_use *u);
