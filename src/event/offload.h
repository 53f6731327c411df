/*
 * offload: a few threads for what may block (cold files, path lookups that leave the dentry cache),
 * so that the loop never does. Threads start with the first job, after the fork, and answer over an
 * eventfd: work() runs in a thread and touches nothing but its job; done() runs in the loop.
 */
#ifndef H2D_EVENT_OFFLOAD_H
#define H2D_EVENT_OFFLOAD_H

#include "event/loop.h"

struct offload;

/*
 * A job is a member of memory that lives until done() ran, whatever happens to who asked: a request
 * that goes away marks its job instead of freeing it.
 */
struct job {
	void (*work)(struct job *j);  /* in a thread */
	void (*done)(struct job *j);  /* in the loop, exactly once */
	struct list node;
};

/* nthreads threads at most; NULL when memory or descriptors are out (errno). */
struct offload *offload_new(struct loop *l, unsigned nthreads);

/* Queues j. 0, or -errno when no thread could be started (done() will not be called then). */
int offload_submit(struct offload *o, struct job *j);

/* Jobs submitted whose done() has not run. */
unsigned offload_pending(const struct offload *o);

/* Waits for running jobs, runs every done(), joins the threads, frees. */
void offload_free(struct offload **o);

#endif
