/*
 * loan: lends the listening sockets of a place whose process is missing, hangs or is full to a
 * neighbour, until the place is served again. Else such a place would block its share of the
 * connections. An acceptor's are lent to all workers. Inboxes of draining generations are lent to
 * workers of the serving one, for waiting connections. It starts and ends no process.
 */
#pragma once

#include "master/gen.h"

/*
 * Lends the own sockets of each place of g, if g serves, that is empty, hangs or is full, and the
 * inboxes of draining generations: to the neighbour that has borrowed least; the acceptor's to all
 * workers. Without such a neighbour it waits for one. Takes back sockets that are served again.
 */
void loan_offer(struct gen *g);

/* The process of to has ended, and so have its loans. */
void loan_lost(const struct child *to);

/* Messages to `to` were lost: sends all of its loans again. */
void loan_again(struct child *to);

/* g drains: ends all messages. */
void loan_forget(struct gen *g);

/* The last process of g has ended: tells the readers of its inboxes that no more will come. */
void loan_gone(const struct gen *g);

/* Messages of DUE_LOANS: each socket lent to c, or taken back. */
child_fill_fn loan_fill;
void loan_sent(const struct child *to);
