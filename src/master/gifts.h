/*
 * gifts: finds what a new process is given (ipc/gifts.h), and closes everything else in it. A
 * further gift is a row of ipc/gift.def and the function that the row names.
 */
#ifndef H2D_MASTER_GIFTS_H
#define H2D_MASTER_GIFTS_H

#include "ipc/gifts.h"
#include "master/gen.h"

/*
 * In the process of place c, whose end of the control socket is ctl. The memory that it takes is
 * the process's, to its end. 0, or -errno.
 */
int gifts_find(struct gifts *to, const struct child *c, int ctl);

/* Closes what is above stderr and was not given. 0, or -errno. */
int gifts_keep(const struct gifts *g);

#endif
