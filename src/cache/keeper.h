/*
 * keeper: the process that reads the roots and publishes cache images. Runs as the worker user, at a
 * low priority; a crash costs nothing but the image. Built at its start; a reload starts a new keeper.
 */
#ifndef H2D_CACHE_KEEPER_H
#define H2D_CACHE_KEEPER_H

#include "cache/files.h"

struct keeper_args {
	struct files_conf files;
	int ctl;              /* to the master; end of file: leave */
	uint32_t generation;
	uint64_t first_number; /* of the first image published */
	int error_log;        /* what the log writes to: CTL_LOGS replaces it; -1 or 0: not ours to close */
};

/* Runs until the master goes or says CTL_DRAIN; the exit status of the process. */
int keeper_run(const struct keeper_args *args);

#endif
