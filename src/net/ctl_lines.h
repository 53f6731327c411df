/*
 * ctl_lines: what a child logs of the levels alert, error and warn, it tells the master, too, which
 * keeps the last lines of all processes for the status page.
 */
#ifndef H2D_NET_CTL_LINES_H
#define H2D_NET_CTL_LINES_H

enum { CTL_LINES_PER_SECOND = 16 };

/* From now on they go to the master over fd, which stays the caller's; -1: not any more. */
void ctl_lines_to(int fd);

#endif
