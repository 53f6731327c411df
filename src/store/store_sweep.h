/*
 * store_sweep: removes remains of dead workers' uploads, and uploads not resumed for resume-expires
 * seconds, and scans directories for their sums. A worker calls it when it starts and from time to
 * time; a thread does it.
 */
#pragma once

#include "files/files.h"
#include "rules/site.h"

/* Sweeps the directories of uploads of all sites, whose strings stay. Failures are logged. */
void store_sweep(struct files *f, const struct sites *sites);

/* Requests at the next call, wherever it is due: a directory's sum (store_quota.h) must be
 * recomputed. */
void store_sweep_soon(void);

/* Called about once a second: sweeps again when uploads may have expired. */
void store_sweep_look(struct files *f, const struct sites *sites);
