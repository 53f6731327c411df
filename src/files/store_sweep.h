/*
 * store_sweep: removes what uploads of workers that died left behind. A worker calls it when it
 * starts; a thread does it.
 */
#ifndef H2D_FILES_STORE_SWEEP_H
#define H2D_FILES_STORE_SWEEP_H

#include "files/files.h"
#include "request/site.h"

/* In the folders of uploads of all sites, whose strings stay. What fails is logged. */
void store_sweep(struct files *f, const struct sites *sites);

#endif
