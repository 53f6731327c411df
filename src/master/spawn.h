/*
 * spawn: the fork. It does everything between the master and the function of the child's kind:
 * which descriptors go along, whose rights the process has, where it counts and leaves its last
 * words.
 */
#ifndef H2D_MASTER_SPAWN_H
#define H2D_MASTER_SPAWN_H

#include "ipc/gifts.h"
#include "master/gen.h"

/*
 * Forks the process of place c, which is empty; the scoreboard slot that its kind needs was taken.
 * The process ID, and in *ctl our end of its control socket; or -errno.
 */
pid_t spawn(struct child *c, int *ctl);

/*
 * In the process of place c, whose end of the control socket is ctl: what it is given. The memory
 * that it takes is the process's, to its end. 0, or -errno. A further gift is a row of ipc/gift.def
 * and the function that the row names.
 */
int gifts_find(struct gifts *to, const struct child *c, int ctl);

/*
 * Closes what is above stderr and was not given: a forgotten listener would go on swallowing
 * connections, and a forgotten control socket would hide the master's death. 0, or -errno.
 */
int gifts_keep(const struct gifts *g);

#endif
