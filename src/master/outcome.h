/*
 * outcome: what `h2d -s reload` is told, by the status file: how requests ended, what became of the
 * generations that were replaced, and that a reload waits. Reload and drain call it; it decides
 * nothing.
 */
#ifndef H2D_MASTER_OUTCOME_H
#define H2D_MASTER_OUTCOME_H

#include <stdint.h>

struct child;
struct gen;
struct master;

/* Writes the file, if there is a pid file to stand beside. */
void outcome_write(const struct master *m);

/* The generation that is being built has replaced `old`: a line about it for the next outcome. */
void outcome_replaced(struct master *m, const struct gen *old);

/* c's process, which drained, is gone: adds up what became of its connections. */
void outcome_add(struct gen *g, const struct child *c);

/* So is the last one of g. */
void outcome_gone(struct master *m, const struct gen *g);

#endif
