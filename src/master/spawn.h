/*
 * spawn: the fork. It does all between the master and the function of the child's kind: the
 * descriptors, the rights of the process, the place of its counts and crash report.
 */
#pragma once

#include "ipc/gifts.h"
#include "master/gen.h"

/*
 * Forks the process of the empty place c; its kind's scoreboard slot was taken. The process ID, and
 * in *ctl our end of its control socket; or -errno.
 */
pid_t spawn(struct child *c, int *ctl);

/*
 * In the process of place c, whose end of the control socket is ctl: finds its gifts. Their memory
 * stays to the end of the process. 0, or -errno. A further gift is a row of ipc/gift.def and its
 * function.
 */
int gifts_find(struct gifts *to, const struct child *c, int ctl);

/*
 * Closes descriptors above stderr that are no gifts: a forgotten listener would keep taking
 * connections, and a forgotten control socket would hide the master's death. 0, or -errno.
 */
int gifts_keep(const struct gifts *g);
