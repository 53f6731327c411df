/*
 * offload: a few threads for what may block (cold files, path look-ups that leave the dentry
 * cache). Threads start with the first job, after the fork: work() runs in a thread and touches
 * only its job; done() runs in the loop. Each class of jobs has its own line; the classes take
 * turns, and slow classes get only some of the threads. A job with a volume (that it waits for)
 * that takes longer than OFFLOAD_LATE_MS makes way: it no longer counts, and another thread starts
 * in its place. So a root that hangs stalls only itself: once it has as many late jobs of a class
 * as that class may have threads, its other jobs stay in line.
 */
#pragma once

#include "event/loop.h"

struct offload;

enum {
	OFFLOAD_LATE_MS = 1000,
	OFFLOAD_LATE_MAX = 28, /* threads that are late; beyond that they count again */
};

enum job_class {
	JOB_FILE,     /* reads, hashes, images: all threads but one */
	JOB_LOOKUP,   /* names, opens: the same */
	JOB_REMOTE,   /* waits for another machine or process (FUSE): half of them */
	JOB_STORE,    /* uploads: half of them */
	JOB_LISTING,  /* a quarter of them */
	JOB_PASSWORD, /* half of them */
	JOB_HANDLER,  /* handlers' own work: all, of a pool of its own */
	JOB_CLASSES
};

/*
 * A job is a member of memory that lives until done() ran, even if its request ends before: that
 * marks the job instead of freeing it.
 */
struct job {
	void (*work)(struct job *j); /* in a thread */
	void (*done)(struct job *j); /* in the loop, exactly once */
	struct list node;
	enum job_class class;
	const void *owner;  /* its connection: connections take turns; NULL: none */
	const void *volume; /* the root or other thing that may block it; NULL: none, it computes */
	bool queued;        /* no thread has it yet */
	bool cancelled; /* a thread has it, but its result is no longer needed: job_unwanted() */
};

/* nthreads threads at most; NULL when memory or descriptors are out (errno). */
struct offload *offload_new(struct loop *l, unsigned nthreads);

/* Queues j. 0, or -errno if no thread could start (done() will not be called). */
int offload_submit(struct offload *o, struct job *j);

/*
 * Cancels j. True: no thread had begun it, and done() will not be called. False: work() can see it
 * by job_unwanted(), and done() will be called.
 */
bool offload_cancel(struct offload *o, struct job *j);

/* For work(), between the steps of a long job: true if it may end early. */
static inline bool job_unwanted(const struct job *j)
{
	return __atomic_load_n(&j->cancelled, __ATOMIC_RELAXED);
}

/* Submitted jobs whose done() has not run. */
unsigned offload_pending(const struct offload *o);

/* Waits for running jobs, runs every done(), joins the threads, frees. */
void offload_free(struct offload **o);
