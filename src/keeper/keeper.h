/*
 * keeper: the process that reads and watches the roots and publishes cache images, for as long as
 * it lives. It runs as the worker user, at a low priority; a crash costs nothing but freshness of
 * the cache, for without its ticks workers read the disk. A reload starts a new keeper, which
 * begins with what of the last image still holds (warm_start).
 */
#ifndef H2D_KEEPER_KEEPER_H
#define H2D_KEEPER_KEEPER_H

#include <stdbool.h>

#include "image/doc_root.h"

struct keeper_args {
	struct doc_roots files;
	int ctl; /* to the master; end of file: leave */
	uint32_t generation;
	int doubts;    /* where workers tell of changes; -1: nobody does */
	bool replaces; /* an earlier keeper, whose images workers may go on using for a while */
	uint64_t first_number; /* of the first image published */
	int error_log; /* what the log writes to: CTL_LOGS replaces it; -1 or 0: not ours to close
			*/
	const int *image; /* descriptors of the newest image of another keeper, now ours to close */
	int nimage;       /* 0: there is none */
};

/* Runs until the master goes or says CTL_DRAIN; the exit status of the process. */
int keeper_run(const struct keeper_args *args);

#endif
