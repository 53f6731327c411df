/*
 * process_use: memory and number of descriptors of this process, as counted by the kernel. Opened
 * before a child's sandbox closes /proc; a worker asked for metrics may not look into other
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

/* Other processes may read *u. */
void process_use_read(struct process_use *u);
