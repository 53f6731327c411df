/*
 * spawn: the fork. Everything between the master and a child's worker_run() or keeper_run(): which
 * descriptors go along, whose rights it has, where it counts and leaves its last words.
 */
#ifndef H2D_MASTER_SPAWN_H
#define H2D_MASTER_SPAWN_H

#include "master/gen.h"

/*
 * Forks the process of place c, which is empty; a worker's c->board was taken. first_image: for the
 * keeper, the number of the first image it may publish. The process ID, and in *ctl our end of its
 * control socket; or -errno.
 */
pid_t spawn(struct child *c, struct board *board, uint64_t first_image, int *ctl);

#endif
