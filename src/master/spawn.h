/*
 * spawn: the fork. It does everything between the master and the function of the child's kind:
 * which descriptors go along, whose rights the process has, where it counts and leaves its last
 * words.
 */
#ifndef H2D_MASTER_SPAWN_H
#define H2D_MASTER_SPAWN_H

#include "master/gen.h"

/*
 * Forks the process of place c, which is empty; the scoreboard slot that its kind needs was taken.
 * The process ID, and in *ctl our end of its control socket; or -errno.
 */
pid_t spawn(struct child *c, int *ctl);

#endif
