/*
 * outcome: what `h2d -s` is told, by the status file: how requests ended, what became of the
 * generations that were replaced, and that a reload waits. Reload, upgrade and drain call it;
 * m->next is where they gather what there is to say. It decides nothing.
 */
#ifndef H2D_MASTER_OUTCOME_H
#define H2D_MASTER_OUTCOME_H

#include <stdbool.h>

struct child;
struct gen;
struct master;

/* Writes the file, if there is a pid file of ours to stand beside. 0, or -errno, which is logged.
 */
int outcome_write(const struct master *m);

/* A request begins: before anything is read for it. */
void outcome_begin(struct master *m);

/* The request is over; the file says so. */
void outcome_end(struct master *m, bool ok);

/* The generation that is being built has replaced `old`: a line about it for the next outcome. */
void outcome_replaced(struct master *m, const struct gen *old);

/* c's process, which drained, is gone: adds up what became of its connections. */
void outcome_add(struct gen *g, const struct child *c);

/* The last process of g is gone: a line about its connections. */
void outcome_gone(struct master *m, const struct gen *g);

#endif
