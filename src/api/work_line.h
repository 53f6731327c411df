/*
 * work_line: orders handlers' work for threads. A client has a share of the threads, so that its
 * slow or hanging work delays no other: half of the free ones, or one. Further work waits, in a
 * line in which clients take turns. Owned by the worker, for work.c; on the loop's thread.
 */
#pragma once

#include "event/offload.h"
#include "share/line.h"

struct work_line;

/* A place in the line, then in a thread; a member of its owner, zeroed before work_line_join(),
 * except the two calls. */
struct work_turn {
	void (*work)(struct work_turn *t); /* in a thread */
	void (*done)(struct work_turn *t); /* in the loop, exactly once */
	struct job job;
	struct work_line *line;
	struct line_turn turn; /* has a thread, once it stops waiting */
};

/* nthreads threads at most; NULL with errno. */
struct work_line *work_line_new(struct loop *l, unsigned nthreads);

/* offload_free() and offload_pending() for it: no turn waits any more. */
void work_line_free(struct work_line **line);
unsigned work_line_pending(const struct work_line *line);

/* 0, or -errno if no thread could start: done() is not called then. */
int work_line_join(struct work_line *line, struct work_turn *t, struct account *account);

/* Cancels t. True: no thread had begun it, and done() will not be called. */
bool work_line_leave(struct work_turn *t);

/* True if its client has not had its turn yet. */
static inline bool work_line_waits(const struct work_turn *t)
{
	return t->turn.group != NULL;
}
