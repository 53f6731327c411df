/*
 * work_line: whose work of handlers a thread begins with. A client has a share of the threads, so
 * that what hangs, or takes long, for one keeps no other waiting: of those that are left half, or
 * one. What is beyond it waits, in a line in which clients take turns. Owned by the worker, for
 * work.c; on the loop's thread.
 */
#ifndef H2D_API_WORK_LINE_H
#define H2D_API_WORK_LINE_H

#include "event/offload.h"
#include "share/line.h"

struct work_line;

/* A place in the line, then in a thread; a member of its owner, zeroed before work_line_join(), all
 * but the two calls. */
struct work_turn {
	void (*work)(struct work_turn *t); /* in a thread */
	void (*done)(struct work_turn *t); /* in the loop, exactly once */
	struct job job;
	struct work_line *line;
	struct line_turn turn; /* has a thread, once it waits no more */
};

/* nthreads threads at most; NULL with errno. */
struct work_line *work_line_new(struct loop *l, unsigned nthreads);

/* As offload_free() and offload_pending(): nobody waits any more. */
void work_line_free(struct work_line **line);
unsigned work_line_pending(const struct work_line *line);

/* 0, or -errno where no thread could be started: done() is not called then. */
int work_line_join(struct work_line *line, struct work_turn *t, struct account *account);

/* It is not wanted any more. True: no thread had begun with it, and done() will not be called. */
bool work_line_leave(struct work_turn *t);

/* Whether its client has not had its turn yet. */
static inline bool work_line_waits(const struct work_turn *t)
{
	return t->turn.group != NULL;
}

#endif
