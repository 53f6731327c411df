/*
 * lone: ends a child that its master has left behind and whose loop stands still. While there is a
 * master, its watchdog does so (master/watchdog.c); the kernel tells of the master's death by
 * SIGALRM, and from then on the process looks at itself once a second. For spawn, and for who turns
 * a child's loop.
 */
#ifndef H2D_IPC_LONE_H
#define H2D_IPC_LONE_H

/* In a child of the master, once it is its user, for a change of user takes it back. limit: of
 * seconds that the loop may stand still, of a process that runs; 0: for ever. 0, or -errno. */
int lone_watch(unsigned limit);

/* The loop turns: said once a second, or oftener. */
void lone_turns(void);

#endif
