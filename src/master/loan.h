/*
 * loan: lends the listening sockets of a place that has no process to a neighbour, which accepts
 * from them until the place is served again; also of one whose process stands still or is full.
 * Without that such a place would swallow its share of the connections. An acceptor's are lent to
 * all workers. Inboxes of generations that
 * leave are lent to workers of the one that serves, for what waits there. Supervise and drain call
 * it; it starts and ends no process.
 */
#ifndef H2D_MASTER_LOAN_H
#define H2D_MASTER_LOAN_H

#include "master/gen.h"

/*
 * Lends what each place of g, if g serves, has for itself that is empty, stands still or is full,
 * and the inboxes of generations that leave: to the neighbour that has borrowed least; what the
 * acceptor has, to all workers. With no
 * neighbour that could, nothing happens until one can. Takes back what is served again.
 */
void loan_offer(struct gen *g);

/* The process of to is gone, and with it what it had borrowed. */
void loan_lost(const struct child *to);

/* Messages to `to` were lost: all that is lent to it is sent again. */
void loan_again(struct child *to);

/* g leaves: nobody is told anything any more. */
void loan_forget(struct gen *g);

/* The last process of g is gone: the readers of its inboxes are told to expect no more. */
void loan_gone(const struct gen *g);

/* Messages of DUE_LOANS: each socket that is lent to c, or taken back. */
child_fill_fn loan_fill;

/* A message of loan_fill() was sent. */
void loan_sent(const struct child *to);

#endif
