/*
 * loan: lends the listening sockets of a place that has no process to a neighbour, which accepts
 * from them until the place is served again. Without that a place that rests between crashes would
 * swallow its share of the connections. Supervise and drain call it; it starts and ends no process.
 */
#ifndef H2D_MASTER_LOAN_H
#define H2D_MASTER_LOAN_H

#include "master/gen.h"

/*
 * Lends what each empty place of g, if g serves, has for itself: to the neighbour that has borrowed
 * least. With no neighbour that is up, nothing happens until one is.
 */
void loan_offer(struct gen *g);

/* from is served again: who has its sockets is told to let go. */
void loan_end(const struct child *from);

/* The process of to is gone, and with it what it had borrowed. */
void loan_lost(const struct child *to);

/* Messages to `to` were lost: all that is lent to it is sent again. */
void loan_again(struct child *to);

/* g leaves: nobody is told anything any more. */
void loan_forget(struct gen *g);

/* The next message of DUE_LOANS to `to`; false: there is none. The descriptor stays the master's.
 */
bool loan_fill(const struct child *to, struct ctl_msg *msg, int *fds, int *nfds);

/* That message was sent. True: there is another. */
bool loan_sent(const struct child *to);

#endif
